package counterfoil.messages;

/** Checks values against the limits of a JSON schema: those of a value before those of its parts. */
public final class JsonChecks {
  private JsonChecks() {
  }

  /** Return the type, or the branch of a union, of a kind. */
  public static JsonForm formOf(JsonForm form, int kind) {
    if (form.kind == JsonForm.UNION) {
      for (int i = 0; i < form.branches.length; i++) {
        if (form.branches[i].kind == kind) {
          return form.branches[i];
        }
      }
    }
    return form;
  }

  public static void value(JsonForm form, Object value) {
    if (!form.isLimited) {
      return;
    }
    if (form.test != null) {
      JsonJudge.check(form.test, form, value);
    } else if (value == null) {
      return;
    } else if (form.isChoice) {
      choice(form, value);
    } else {
      checked(form, value);
    }
  }

  /** Check the value of a choice: whatever is wrong inside is wrong with the choice. */
  private static void choice(JsonForm form, Object value) {
    try {
      checked(form, value);
    } catch (Misfit misfit) {
      throw refused("the value fits no branch of the choice");
    }
  }

  private static void checked(JsonForm form, Object value) {
    own(form, value);
    if (value instanceof Object[]) {
      record(form, (Object[]) value);
    } else if (value instanceof Items) {
      items(form.inner, (Items) value);
    } else if (value instanceof Entries) {
      entries(form.inner, (Entries) value);
    }
  }

  private static Misfit refused(String problem) {
    return new Misfit(Codes.UNENCODABLE, problem);
  }

  private static void own(JsonForm form, Object value) {
    if (value instanceof Number) {
      if ((form.low != null && form.low.isAbove(value)) || (form.high != null && form.high.isBelow(value))) {
        throw refused(value + " is beyond a limit of the schema");
      }
      if ((form.factor != null && Values.big(value).mod(form.factor.abs()).signum() != 0)
          || (form.among != null && !form.among.contains(Values.big(value)))) {
        throw refused(value + " is none of the numbers that the schema accepts");
      }
      return;
    }
    if (form.pattern != null && value instanceof Texts && !form.pattern.isIn((Texts) value)) {
      throw refused("the value does not match the pattern of the schema");
    }
    if (form.isUnique && value instanceof Items) {
      different((Items) value);
    }
    if (form.fewest < 0 && form.most < 0) {
      return;
    }
    long size = value instanceof Texts ? characters((Texts) value) : value instanceof Items ? ((Items) value).count
        : value instanceof Entries ? ((Entries) value).count : -1;
    if (size >= 0 && (size < form.fewest || (form.most >= 0 && size > form.most))) {
      throw refused("the value has the size " + size + ", which is beyond a limit of the schema");
    }
  }

  private static void different(Items items) {
    java.util.HashSet seen = new java.util.HashSet();
    for (int i = 0; i < items.count; i++) {
      Object item = items.values[i];
      Object key = item instanceof Texts ? Texts.string(((Texts) item).data, ((Texts) item).from, ((Texts) item).to)
          : item instanceof Boolean || item == null ? item : Values.big(item);
      if (!seen.add(key)) {
        throw refused("item " + i + " is there a second time");
      }
    }
  }

  private static long characters(Texts text) {
    long count = 0;
    for (int i = text.from; i < text.to; i++) {
      if ((text.data[i] & 0xc0) != 0x80) {
        count++;
      }
    }
    return count;
  }

  private static void record(JsonForm form, Object[] values) {
    int i = 0;
    try {
      for (; i < values.length; i++) {
        if (values[i] != null || form.writesNull[i]) {
          value(form.forms[i], values[i]);
        }
      }
    } catch (Misfit misfit) {
      throw under(misfit, form.names[i]);
    }
  }

  private static void items(JsonForm inner, Items items) {
    int i = 0;
    try {
      for (; i < items.count; i++) {
        value(inner, items.values[i]);
      }
    } catch (Misfit misfit) {
      throw misfit.under("[" + i + "]");
    }
  }

  private static void entries(JsonForm inner, Entries entries) {
    int i = 0;
    try {
      for (; i < entries.count; i++) {
        value(inner, entries.values[i]);
      }
    } catch (Misfit misfit) {
      Texts key = entries.keys[i];
      throw under(misfit, stepOf(Texts.string(key.data, key.from, key.to)));
    }
  }

  /** Return the error under a name; the validator of the SDK leaves out an empty one. */
  static Misfit under(Misfit misfit, String step) {
    return step.length() == 0 ? misfit : misfit.under(step);
  }

  /** Return the step to the value of a name. */
  static String stepOf(String name) {
    return name.length() == 0 || isIdentifier(name) ? name : "[" + index(name) + "]";
  }

  /** Return a name as the validator of the SDK writes it: one that Rust reads as a whole number is an index. */
  private static String index(String name) {
    if (name.matches("\\+?[0-9]{1,1000}")) {
      java.math.BigInteger number = new java.math.BigInteger(name);
      if (number.bitLength() <= 64) {
        return number.toString();
      }
    }
    return Texts.repr(name);
  }

  private static boolean isIdentifier(String name) {
    if (name.length() == 0 || !(name.charAt(0) == '_' || Character.isUnicodeIdentifierStart(name.codePointAt(0)))) {
      return false;
    }
    for (int i = 0; i < name.length(); i += Character.charCount(name.codePointAt(i))) {
      int point = name.codePointAt(i);
      if (!Character.isUnicodeIdentifierPart(point) || Character.isIdentifierIgnorable(point)) {
        return false;
      }
    }
    return true;
  }
}
