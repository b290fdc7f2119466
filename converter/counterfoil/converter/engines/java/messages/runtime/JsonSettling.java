package counterfoil.messages;

/** Makes JSON values base values: checks their types, and fills in what is left out. */
public final class JsonSettling {
  private JsonSettling() {
  }

  /** Return the base value of a value that was read. */
  public static Object value(JsonType type, Object given) {
    if (given == JsonReader.NULL && type.isNullable) {
      return null;
    }
    switch (type.kind) {
      case JsonType.ANY: return null;
      case JsonType.RECORD: return given instanceof Object[] ? record(type, (Object[]) given) : refuse(type);
      case JsonType.MAP: return given instanceof Entries ? entries(type, (Entries) given) : refuse(type);
      case JsonType.ARRAY: return given instanceof Items ? items(type, (Items) given) : refuse(type);
      case JsonType.BOOLEAN: return given instanceof Boolean ? given : refuse(type);
      case JsonType.TEXT: return given instanceof Texts ? given : refuse(type);
      case JsonType.ENUM: {
        Texts text = given instanceof Texts ? (Texts) given : null;
        return text != null && type.placeOf(text.data, text.from, text.to, 0) >= 0 ? given : refuse(type);
      }
      case JsonType.WHOLE: return whole(type, given);
      case JsonType.NUMBER: return given instanceof Number ? given : refuse(type);
      case JsonType.UNION: return branch(type, given);
      default: return refuse(type);
    }
  }

  private static Object refuse(JsonType type) {
    throw new Misfit(Codes.UNDECODABLE, "expected " + type.words);
  }

  private static Object[] record(JsonType type, Object[] given) {
    int i = 0;
    try {
      for (; i < given.length; i++) {
        given[i] = given[i] == JsonReader.ABSENT ? absent(type.absent[i]) : value(type.types[i], given[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under(type.names[i]);
    }
    return given;
  }

  private static Object absent(Object value) {
    if (value == JsonType.REQUIRED) {
      throw new Misfit(Codes.UNDECODABLE, "the property is required, and it is left out");
    }
    return value;
  }

  private static Items items(JsonType type, Items given) {
    try {
      for (int i = 0; i < given.count; i++) {
        given.values[i] = value(type.inner, given.values[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under("[]");
    }
    return given;
  }

  private static Entries entries(JsonType type, Entries given) {
    try {
      for (int i = 0; i < given.count; i++) {
        given.values[i] = value(type.inner, given.values[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under("{}");
    }
    return given;
  }

  private static Object whole(JsonType type, Object given) {
    Object value = given;
    if (given instanceof Double) {
      double real = ((Double) given).doubleValue();
      if (real != Math.floor(real)) {
        refuse(type);
      }
      value = Values.whole(new java.math.BigDecimal(real).toBigInteger());
    }
    if (!(value instanceof Number)) {
      refuse(type);
    }
    if (value instanceof Long && type.isSigned && type.bits == 64) {
      return value;
    }
    java.math.BigInteger whole = Values.big(value);
    if (type.isSigned ? whole.bitLength() >= type.bits : whole.signum() < 0 || whole.bitLength() > type.bits) {
      throw new Misfit(Codes.OUT_OF_RANGE, value + " does not fit " + type.words);
    }
    return value;
  }

  /** Return the value as that of the branch of a union whose values are of its class. */
  private static Object branch(JsonType type, Object given) {
    JsonType found = null;
    for (int i = 0; i < type.branches.length; i++) {
      JsonType branch = type.branches[i];
      if (given instanceof Double && branch.kind == JsonType.WHOLE || isOf(branch.kind, given)) {
        found = branch;
      }
    }
    return found == null ? refuse(type) : value(found, given);
  }

  private static boolean isOf(int kind, Object given) {
    switch (kind) {
      case JsonType.RECORD: return given instanceof Object[];
      case JsonType.MAP: return given instanceof Entries;
      case JsonType.ARRAY: return given instanceof Items;
      case JsonType.BOOLEAN: return given instanceof Boolean;
      case JsonType.TEXT:
      case JsonType.ENUM: return given instanceof Texts;
      case JsonType.WHOLE: return given instanceof Long || given instanceof java.math.BigInteger;
      case JsonType.NUMBER: return given instanceof Number;
      default: return false;
    }
  }
}
