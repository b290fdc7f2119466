package counterfoil.messages;

/** A worker that reads a message whole into objects, converts them, and writes the result. */
public abstract class MessageWorker extends Worker {
  /** The source's value. */
  private Object value;
  /** The position after the message; that of the end where a reader reads all bytes. */
  protected int end;

  /** The item of an array, or the value of a map, that is left out. */
  protected static final Object LEFT_OUT = new Object();

  /** How many values are inside of each other that one method converts; a failure leaves it as it is. */
  protected int level;

  /** Convert a value inside of another one that the same method converts. */
  protected final void descend() {
    if (++level > Codes.MAX_LEVELS) {
      throw new Failure(Codes.UNENCODABLE, "", "the value contains itself more than " + Codes.MAX_LEVELS + " levels deep");
    }
  }

  /** The result of reading a message of an unknown id; null is a value. */
  protected static final Object UNKNOWN = new Object();

  /** Read the message of a schema id from a position on. */
  protected abstract Object readMessage(int schemaId, byte[] data, int at);

  /** Convert the value. */
  protected abstract Object converted(Object value);

  /** Write the target's value. */
  protected abstract void writeMessage(Object made);

  protected final int read(int schemaId, byte[] data, int at) {
    try {
      level = 0;
      end = data.length;
      value = readMessage(schemaId, data, at);
      return value == UNKNOWN ? -1 : end;
    } catch (Misfit misfit) {
      throw misfit.asFailure();
    } catch (StackOverflowError tooDeep) {
      throw new Failure(Codes.UNDECODABLE, "", "the value is nested too deep");
    }
  }

  protected final void write() {
    try {
      level = 0;
      writeMessage(converted(value));
    } catch (Misfit misfit) {
      throw misfit.asFailure();
    } catch (StackOverflowError tooDeep) {
      throw new Failure(Codes.UNENCODABLE, "", "the value is nested too deep");
    } finally {
      value = null;
    }
  }
}
