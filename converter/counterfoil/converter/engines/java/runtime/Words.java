package counterfoil.runtime;

/** Eight bytes of an array as one number; the first byte has the lowest bits. The caller sees to it that they are there. */
final class Words {
  private static final boolean REVERSED = java.nio.ByteOrder.nativeOrder() != java.nio.ByteOrder.LITTLE_ENDIAN;

  private Words() {}

  static long get(byte[] data, int at) {
    long word = org.apache.spark.unsafe.Platform.getLong(data, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + at);
    return REVERSED ? Long.reverseBytes(word) : word;
  }

  static void put(byte[] data, int at, long word) {
    org.apache.spark.unsafe.Platform.putLong(
        data, org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET + at, REVERSED ? Long.reverseBytes(word) : word);
  }
}
