package counterfoil.messages;

/** A worker that reads a message whole into objects, converts them, and writes the result. */
public abstract class MessageWorker extends Worker {
  /** The source's record. */
  private Object[] record;
  /** The position after the message; that of the end where a reader reads all bytes. */
  protected int end;

  /** Read the message of a schema id from a position on; null for an unknown id. */
  protected abstract Object[] readMessage(int schemaId, byte[] data, int at);

  /** Convert the record. */
  protected abstract Object[] converted(Object[] record);

  /** Write the target's record. */
  protected abstract void writeMessage(Object[] record);

  protected final int read(int schemaId, byte[] data, int at) {
    try {
      end = data.length;
      record = readMessage(schemaId, data, at);
      return record == null ? -1 : end;
    } catch (Misfit misfit) {
      throw misfit.asFailure();
    } catch (StackOverflowError tooDeep) {
      throw new Failure(Codes.UNDECODABLE, "", "the value is nested too deep");
    }
  }

  protected final void write() {
    try {
      writeMessage(converted(record));
    } catch (Misfit misfit) {
      throw misfit.asFailure();
    } catch (StackOverflowError tooDeep) {
      throw new Failure(Codes.UNENCODABLE, "", "the value is nested too deep");
    } finally {
      record = null;
    }
  }
}
