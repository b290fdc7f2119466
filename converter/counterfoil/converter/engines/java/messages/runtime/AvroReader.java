package counterfoil.messages;

/** Reads Avro's binary encoding into base values; the meaning is that of the SDK's module decode_walk. */
public final class AvroReader {
  private final MessageWorker worker;
  private byte[] data;
  private int position;

  public AvroReader(MessageWorker worker) {
    this.worker = worker;
  }

  /** Read the value at a position; the worker gets the position after it. */
  public Object read(AvroStep step, byte[] bytes, int from) {
    data = bytes;
    position = from;
    try {
      Object made = value(step);
      worker.end = position;
      return made;
    } finally {
      data = null;
    }
  }

  private Object value(AvroStep step) {
    switch (step.kind) {
      case AvroStep.NULL: return null;
      case AvroStep.BOOLEAN:
        position = worker.readBoolean(data, position);
        return worker.number != 0 ? Boolean.TRUE : Boolean.FALSE;
      case AvroStep.INT:
        position = worker.readInt(data, position);
        return whole(step);
      case AvroStep.LONG:
        position = worker.readLong(data, position);
        return whole(step);
      case AvroStep.FLOAT:
        position = worker.readFloat(data, position);
        return Double.valueOf(worker.real);
      case AvroStep.DOUBLE:
        position = worker.readDouble(data, position);
        return Double.valueOf(worker.real);
      case AvroStep.BYTES: {
        int from = sized();
        return java.util.Arrays.copyOfRange(data, from, position);
      }
      case AvroStep.STRING: return text();
      case AvroStep.FIXED: {
        int from = position;
        position = worker.skip(data, from, step.size);
        return java.util.Arrays.copyOfRange(data, from, position);
      }
      case AvroStep.ENUM: return symbol(step);
      case AvroStep.ARRAY: return items(step);
      case AvroStep.MAP: return entries(step);
      case AvroStep.RECORD: return record(step);
      case AvroStep.UNION: return value(branch(step));
      case AvroStep.TAGGED: return new Tagged(step.size, value(step.parts[0]));
      default: throw Reader.undecodable(step.problem, position);
    }
  }

  private Object whole(AvroStep step) {
    return step.isPromoted ? (Object) Double.valueOf((double) worker.number) : Long.valueOf(worker.number);
  }

  /** Pass a length and as many bytes, and return where they begin. */
  private int sized() {
    int from = worker.readSize(data, position);
    position = from + (int) worker.number;
    return from;
  }

  private Texts text() {
    int from = sized();
    Reader.checkText(data, from, position);
    return Values.span(data, from, position);
  }

  private Texts symbol(AvroStep step) {
    int from = position;
    position = worker.readChoice(data, from, step.symbols.length, "Symbol");
    Texts symbol = step.symbols[(int) worker.number];
    if (symbol == null) {
      throw Reader.undecodable("The reader has neither this symbol nor a default", from);
    }
    return symbol;
  }

  private AvroStep branch(AvroStep step) {
    position = worker.readChoice(data, position, step.parts.length, "Branch");
    return step.parts[(int) worker.number];
  }

  private Object[] record(AvroStep step) {
    if (step.size > 0) {
      worker.weigh(step.size);
    }
    Object[] made = (Object[]) step.defaults.clone();
    int i = 0;
    try {
      for (; i < step.parts.length; i++) {
        if (step.places[i] < 0) {
          skip(step.parts[i]);
        } else {
          made[step.places[i]] = value(step.parts[i]);
        }
      }
    } catch (Failure failure) {
      throw failure.inField(step.names[i]);
    }
    return made;
  }

  private Items items(AvroStep step) {
    Items made = new Items();
    boolean isInside = false;
    try {
      while (true) {
        isInside = false;
        position = worker.readBlock(data, position, step.size);
        long left = worker.number;
        if (left == 0) {
          return made;
        }
        isInside = true;
        for (; left > 0; left--) {
          made.add(value(step.parts[0]));
        }
      }
    } catch (Failure failure) {
      throw isInside ? failure.inItem(made.count) : failure;
    }
  }

  private Entries entries(AvroStep step) {
    Entries made = new Entries();
    Texts key = null;
    try {
      while (true) {
        key = null;
        position = worker.readBlock(data, position, 1);
        long left = worker.number;
        if (left == 0) {
          return made;
        }
        for (; left > 0; left--) {
          key = null;
          key = text();
          made.put(key, value(step.parts[0]));
        }
      }
    } catch (Failure failure) {
      throw key == null ? failure : failure.inKey(key.data, key.from, key.to);
    }
  }

  /** Pass a value of which only the size matters. */
  private void skip(AvroStep step) {
    switch (step.kind) {
      case AvroStep.NULL: return;
      case AvroStep.BOOLEAN: position = worker.skip(data, position, 1); return;
      case AvroStep.INT:
      case AvroStep.LONG:
      case AvroStep.ENUM: position = worker.skipNumber(data, position); return;
      case AvroStep.FLOAT: position = worker.skip(data, position, 4); return;
      case AvroStep.DOUBLE: position = worker.skip(data, position, 8); return;
      case AvroStep.FIXED: position = worker.skip(data, position, step.size); return;
      case AvroStep.BYTES:
      case AvroStep.STRING: position = worker.skipBytes(data, position); return;
      case AvroStep.ARRAY: skipBlocks(step, false); return;
      case AvroStep.MAP: skipBlocks(step, true); return;
      case AvroStep.RECORD:
        for (int i = 0; i < step.parts.length; i++) {
          skip(step.parts[i]);
        }
        return;
      case AvroStep.UNION: skip(branch(step)); return;
      default: value(step);
    }
  }

  private void skipBlocks(AvroStep step, boolean hasKeys) {
    while (true) {
      position = worker.skipBlock(data, position, hasKeys ? 1 : step.size);
      long left = worker.number;
      if (left == 0) {
        return;
      }
      for (; left > 0; left--) {
        if (hasKeys) {
          position = worker.skipBytes(data, position);
        }
        skip(step.parts[0]);
      }
    }
  }
}
