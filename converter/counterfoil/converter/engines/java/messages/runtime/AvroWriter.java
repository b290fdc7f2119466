package counterfoil.messages;

/** Writes base values in Avro's binary encoding; the meaning is that of the SDK's module encode_walk. */
public final class AvroWriter {
  private static final int[] NULLS = {AvroStep.NULL};
  private static final int[] BOOLEANS = {AvroStep.BOOLEAN};
  private static final int[] WHOLES = {AvroStep.INT, AvroStep.LONG, AvroStep.DOUBLE, AvroStep.FLOAT};
  private static final int[] REALS = {AvroStep.DOUBLE, AvroStep.FLOAT};
  private static final int[] TEXTS = {AvroStep.STRING, AvroStep.ENUM};
  private static final int[] DATA = {AvroStep.BYTES, AvroStep.FIXED};
  private static final int[] LISTS = {AvroStep.ARRAY};
  private static final int[] MAPS = {AvroStep.MAP};
  private static final int[] RECORDS = {AvroStep.RECORD};

  private Output out;

  /** Write a value, and append it to the output. */
  public void write(AvroStep step, Object value, Output to) {
    out = to;
    put(step, value);
  }

  private static Failure unfitting() {
    return new Failure(Codes.UNENCODABLE, "", "the value does not fit the target's type");
  }

  private void put(AvroStep step, Object value) {
    if (step.kind == AvroStep.UNION) {
      int branch = value instanceof Tagged ? ((Tagged) value).index : branchOf(step, value);
      out.putLong(branch);
      put(step.parts[branch], value instanceof Tagged ? ((Tagged) value).value : value);
      return;
    }
    if (!fits(step, value)) {
      throw unfitting();
    }
    switch (step.kind) {
      case AvroStep.NULL: return;
      case AvroStep.BOOLEAN: out.putByte(((Boolean) value).booleanValue() ? 1 : 0); return;
      case AvroStep.INT:
      case AvroStep.LONG: out.putLong(((Long) value).longValue()); return;
      case AvroStep.FLOAT: out.putFloat(((Number) value).doubleValue()); return;
      case AvroStep.DOUBLE: out.putDouble(((Number) value).doubleValue()); return;
      case AvroStep.BYTES: out.putBytes((byte[]) value, 0, ((byte[]) value).length); return;
      case AvroStep.FIXED: out.put((byte[]) value); return;
      case AvroStep.STRING: putText((Texts) value); return;
      case AvroStep.ENUM: out.putLong(placeOf(step, (Texts) value)); return;
      case AvroStep.ARRAY: items(step, (Items) value); return;
      case AvroStep.MAP: entries(step, (Entries) value); return;
      default: record(step, (Object[]) value);
    }
  }

  private void putText(Texts text) {
    out.putBytes(text.data, text.from, text.to);
  }

  private static int placeOf(AvroStep step, Texts symbol) {
    return step.table.placeOf(symbol.data, symbol.from, symbol.to);
  }

  private void items(AvroStep step, Items items) {
    int i = 0;
    try {
      if (items.count > 0) {
        out.putLong(items.count);
      }
      for (; i < items.count; i++) {
        put(step.parts[0], items.values[i]);
      }
    } catch (Failure failure) {
      throw failure.inItem(i);
    }
    out.putByte(0);
  }

  private void entries(AvroStep step, Entries entries) {
    int i = 0;
    try {
      if (entries.count > 0) {
        out.putLong(entries.count);
      }
      for (; i < entries.count; i++) {
        putText(entries.keys[i]);
        put(step.parts[0], entries.values[i]);
      }
    } catch (Failure failure) {
      throw failure.inKey(entries.keys[i].data, entries.keys[i].from, entries.keys[i].to);
    }
    out.putByte(0);
  }

  private void record(AvroStep step, Object[] fields) {
    int i = 0;
    try {
      for (; i < fields.length; i++) {
        put(step.parts[i], fields[i]);
      }
    } catch (Failure failure) {
      throw failure.inField(step.names[i]);
    }
  }

  /** Return whether a value is one of a type; the parts of a value are not compared. */
  private static boolean fits(AvroStep step, Object value) {
    switch (step.kind) {
      case AvroStep.NULL: return value == null;
      case AvroStep.BOOLEAN: return value instanceof Boolean;
      case AvroStep.INT: return value instanceof Long && ((Long) value).longValue() == ((Long) value).intValue();
      case AvroStep.LONG: return value instanceof Long;
      case AvroStep.FLOAT: return isReal(value) && isWithinFloat(((Number) value).doubleValue());
      case AvroStep.DOUBLE: return isReal(value);
      case AvroStep.BYTES: return value instanceof byte[];
      case AvroStep.FIXED: return value instanceof byte[] && ((byte[]) value).length == step.size;
      case AvroStep.STRING: return value instanceof Texts;
      case AvroStep.ENUM: return value instanceof Texts && placeOf(step, (Texts) value) >= 0;
      case AvroStep.ARRAY: return value instanceof Items;
      case AvroStep.MAP: return value instanceof Entries;
      default: return value instanceof Object[];
    }
  }

  private static boolean isReal(Object value) {
    return value instanceof Double || value instanceof Long;
  }

  private static boolean isWithinFloat(double value) {
    return Double.isInfinite(value) || !Float.isInfinite((float) value);
  }

  /** Return the branch whose type is the closest to the value's class; several types that are equally close are none. */
  private static int branchOf(AvroStep union, Object value) {
    int[] kinds = kindsOf(value);
    for (int k = 0; k < kinds.length; k++) {
      int found = -1;
      for (int i = 0; i < union.parts.length; i++) {
        if (union.parts[i].kind == kinds[k] && fits(union.parts[i], value)) {
          if (found >= 0) {
            throw unfitting();
          }
          found = i;
        }
      }
      if (found >= 0) {
        return found;
      }
    }
    throw unfitting();
  }

  private static int[] kindsOf(Object value) {
    if (value == null) {
      return NULLS;
    }
    if (value instanceof Texts) {
      return TEXTS;
    }
    if (value instanceof Long) {
      return WHOLES;
    }
    if (value instanceof Double) {
      return REALS;
    }
    if (value instanceof Boolean) {
      return BOOLEANS;
    }
    if (value instanceof byte[]) {
      return DATA;
    }
    if (value instanceof Items) {
      return LISTS;
    }
    return value instanceof Entries ? MAPS : RECORDS;
  }
}
