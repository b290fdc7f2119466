import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.array.ByteArrayMethods;
import org.apache.spark.unsafe.types.UTF8String;

/** The functions of this file by their names in SQL. */
public class Functions implements FunctionCatalog {
  private String name;

  public void initialize(String catalog, CaseInsensitiveStringMap options) {
    name = catalog;
  }

  public String name() {
    return name;
  }

  public Identifier[] listFunctions(String[] namespace) {
    return new Identifier[0];
  }

  public UnboundFunction loadFunction(Identifier function) {
    return function.name().equals("is_echo") ? (UnboundFunction) new IsEcho() : new Outgoing();
  }
}

/** What both functions have: Spark calls their static method {@code invoke} from compiled code. */
public abstract class Function implements UnboundFunction, ScalarFunction {
  static final UTF8String SOURCE = UTF8String.fromString(Names.SOURCE);
  static final StructType HEADER =
      new StructType().add("key", DataTypes.StringType).add("value", DataTypes.BinaryType);
  static final DataType HEADERS = DataTypes.createArrayType(HEADER);

  public BoundFunction bind(StructType arguments) {
    return this;
  }

  public String description() {
    return name();
  }
}

/** Whether headers name an origin that begins with a prefix. */
public final class IsEcho extends Function {
  public String name() {
    return "is_echo";
  }

  public DataType[] inputTypes() {
    return new DataType[] {HEADERS, DataTypes.BinaryType};
  }

  public DataType resultType() {
    return DataTypes.BooleanType;
  }

  public boolean isResultNullable() {
    return false;
  }

  public static boolean invoke(ArrayData headers, byte[] prefix) {
    int count = headers == null ? 0 : headers.numElements();
    for (int i = 0; i < count; i++) {
      InternalRow header = headers.getStruct(i, 2);
      if (SOURCE.equals(header.getUTF8String(0)) && !header.isNullAt(1)
          && ByteArrayMethods.startsWith(header.getBinary(1), prefix)) {
        return true;
      }
    }
    return false;
  }
}

/**
 * The topic, value and headers of a record that is written, the code of the reason if it is a dead letter, and the size of
 * the value in bytes, null for a tombstone.
 */
public final class Outgoing extends Function {
  private static final byte[] SOURCE_NAME = bytesOf(Names.SOURCE);
  private static final byte[] PLAN = bytesOf(Names.PLAN);
  private static final byte[] VIA = bytesOf(Names.VIA);
  private static final byte[] ERROR = bytesOf(Names.ERROR);
  private static final byte[] ERROR_FIELD = bytesOf(Names.ERROR_FIELD);
  private static final byte[] ERROR_TEXT = bytesOf(Names.ERROR_TEXT);
  private static final UTF8String TOO_LARGE = UTF8String.fromString(Names.TOO_LARGE);

  private static final int FRAME_BYTES = 5;
  private static final int LONGEST_NUMBER = 20;
  private static final long PART = 100000000L;
  private static final int DIGITS_IN_PART = 8;

  public String name() {
    return "outgoing";
  }

  public DataType[] inputTypes() {
    StructType failure = new StructType().add("code", DataTypes.StringType).add("field", DataTypes.StringType)
        .add("text", DataTypes.StringType);
    return new DataType[] {
      DataTypes.BinaryType, failure, DataTypes.BinaryType, DataTypes.BinaryType, HEADERS,
      DataTypes.StringType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.TimestampType,
      DataTypes.StringType, DataTypes.StringType, DataTypes.BinaryType, DataTypes.BinaryType,
      DataTypes.BooleanType, DataTypes.LongType,
    };
  }

  public DataType resultType() {
    return new StructType().add("topic", DataTypes.StringType).add("value", DataTypes.BinaryType)
        .add("headers", HEADERS).add("code", DataTypes.StringType).add("bytes", DataTypes.IntegerType);
  }

  public boolean isResultNullable() {
    return false;
  }

  public static InternalRow invoke(byte[] converted, InternalRow failure, byte[] key, byte[] value, ArrayData headers,
      UTF8String topic, int partition, long offset, long timestamp, UTF8String target, UTF8String deadLetters,
      byte[] plan, byte[] via, boolean keepsTimestamp, long maxBytes) {
    if (value != null && converted == null && failure == null) {
      throw new IllegalStateException(
          "no value and no reason for the record at partition " + partition + " offset " + offset);
    }
    int count = headers == null ? 0 : headers.numElements();
    InternalRow[] kept = new InternalRow[count];
    long size = Sizes.RECORD_OVERHEAD_BYTES + Sizes.OWN_HEADERS_BYTES + lengthOf(key) + lengthOf(converted);
    for (int i = 0; i < count; i++) {
      kept[i] = headers.getStruct(i, 2);
      size += Sizes.HEADER_OVERHEAD_BYTES + Headers.lengthIn(kept[i]);
    }
    InternalRow problem = failure == null && converted != null && size > maxBytes ? tooLarge(size, maxBytes) : failure;
    long millis = keepsTimestamp ? Math.floorDiv(timestamp, 1000L) : -1L;
    Headers all = new Headers(count + (problem == null ? 3 : 6));
    for (int i = 0; i < count; i++) {
      all.add(kept[i]);
    }
    addOrigin(all, topic, partition, offset, millis, value);
    all.add(PLAN, plan);
    all.add(VIA, via);
    if (problem == null) {
      Integer bytes = converted == null ? null : Integer.valueOf(converted.length);
      return row(new Object[] {target, converted, all.made(), null, bytes});
    }
    UTF8String code = problem.getUTF8String(0);
    all.add(ERROR, bytesOf(code));
    all.add(ERROR_FIELD, bytesOf(problem.getUTF8String(1)));
    all.add(ERROR_TEXT, bytesOf(problem.getUTF8String(2)));
    return row(new Object[] {deadLetters, value, all.made(), code, Integer.valueOf(lengthOf(value))});
  }

  private static InternalRow tooLarge(long size, long maxBytes) {
    String text = "the converted record takes about " + size + " bytes, and the target takes " + maxBytes;
    return row(new Object[] {TOO_LARGE, UTF8String.fromString(""), UTF8String.fromString(text)});
  }

  private static InternalRow row(Object[] values) {
    return new GenericInternalRow(values);
  }

  private static int lengthOf(byte[] data) {
    return data == null ? 0 : data.length;
  }

  private static byte[] bytesOf(String text) {
    return UTF8String.fromString(text).getBytes();
  }

  private static byte[] bytesOf(UTF8String text) {
    return text == null ? new byte[0] : text.getBytes();
  }

  /** Add bridge.src: topic/partition/offset/timestamp/id, without the id if the value has none. */
  private static void addOrigin(Headers all, UTF8String topic, int partition, long offset, long millis, byte[] value) {
    int length = topic.numBytes();
    byte[] text = new byte[length + 4 * (1 + LONGEST_NUMBER)];
    int begin = text.length;
    if (value != null && value.length > 1 && value[0] == 0) {
      long id = 0;
      for (int i = 1; i < Math.min(FRAME_BYTES, value.length); i++) {
        id = id << 8 | (value[i] & 0xff);
      }
      begin = putBefore(text, begin, id);
    }
    begin = putBefore(text, begin, millis);
    begin = putBefore(text, begin, offset);
    begin = putBefore(text, begin, partition) - length;
    topic.writeToMemory(text, Platform.BYTE_ARRAY_OFFSET + begin);
    all.add(SOURCE_NAME, text, begin, text.length);
  }

  /** Write a slash and a number in decimal that end at a position, and return where they begin. */
  private static int putBefore(byte[] text, int end, long number) {
    int p = end;
    long rest = Math.abs(number);
    while (rest >= PART) {
      long next = rest / PART;
      int part = (int) (rest - next * PART);
      for (int i = 0; i < DIGITS_IN_PART / 2; i++) {
        p = putPairBefore(text, p, part % 100);
        part /= 100;
      }
      rest = next;
    }
    int small = (int) rest;
    while (small >= 10) {
      int next = small / 100;
      p = putPairBefore(text, p, small - next * 100);
      small = next;
    }
    if (small > 0 || p == end) {
      text[--p] = (byte) ('0' + small);
    }
    if (number < 0) {
      text[--p] = '-';
    }
    text[--p] = '/';
    return p;
  }

  private static int putPairBefore(byte[] text, int end, int pair) {
    int tens = pair / 10;
    text[end - 1] = (byte) ('0' + (pair - tens * 10));
    text[end - 2] = (byte) ('0' + tens);
    return end - 2;
  }
}

/**
 * Headers as Spark keeps them in its rows (UnsafeArrayData of UnsafeRow), so that they are copied to the row that is sent
 * as they are.
 *
 * <p>Such an array is the number of its elements, a bit for each null, then a long for each element: its offset and its
 * size. A row is a bit for each null in eight bytes, a long for each field (offset and size), and the fields. Rows and
 * fields begin at multiples of eight bytes.
 */
final class Headers {
  private static final int ROW_BYTES = 24;
  private static final int ROOM_BYTES = 512;

  private final int begin;
  private byte[] data;
  private int count;
  private int end;

  Headers(int count) {
    begin = UnsafeArrayData.calculateHeaderPortionInBytes(count);
    end = begin + 8 * count;
    data = new byte[end + ROOM_BYTES];
    putLong(0, count);
  }

  /** Return the bytes of a header's name and value. */
  static long lengthIn(InternalRow header) {
    if (header instanceof UnsafeRow) {
      return (int) header.getLong(0) + (header.isNullAt(1) ? 0 : (int) header.getLong(1));
    }
    return header.getUTF8String(0).numBytes() + (header.isNullAt(1) ? 0 : header.getBinary(1).length);
  }

  /** Add a header of the original record. */
  void add(InternalRow header) {
    if (header instanceof UnsafeRow) {
      UnsafeRow row = (UnsafeRow) header;
      int size = row.getSizeInBytes();
      int at = place(size);
      Platform.copyMemory(
          row.getBaseObject(), row.getBaseOffset(), data, Platform.BYTE_ARRAY_OFFSET + at, size);
    } else {
      add(header.getUTF8String(0).getBytes(), header.isNullAt(1) ? null : header.getBinary(1));
    }
  }

  void add(byte[] name, byte[] value) {
    add(name, value, 0, value == null ? 0 : value.length);
  }

  /** Add a header with a part of {@code value}, or null. */
  void add(byte[] name, byte[] value, int from, int to) {
    int valueAt = ROW_BYTES + padded(name.length);
    int at = place(valueAt + padded(to - from));
    putLong(at, value == null ? 2 : 0);
    putLong(at + 8, (long) ROW_BYTES << 32 | name.length);
    putLong(at + 16, value == null ? 0 : (long) valueAt << 32 | to - from);
    System.arraycopy(name, 0, data, at + ROW_BYTES, name.length);
    if (value != null) {
      System.arraycopy(value, from, data, at + valueAt, to - from);
    }
  }

  UnsafeArrayData made() {
    UnsafeArrayData made = new UnsafeArrayData();
    made.pointTo(data, Platform.BYTE_ARRAY_OFFSET, end);
    return made;
  }

  /** Make room for the next row, and return where it begins; the room is zeros. */
  private int place(int size) {
    int at = end;
    end += size;
    if (end > data.length) {
      byte[] larger = new byte[2 * end];
      System.arraycopy(data, 0, larger, 0, at);
      data = larger;
    }
    putLong(begin + 8 * count++, (long) at << 32 | size);
    return at;
  }

  private void putLong(int at, long value) {
    Platform.putLong(data, Platform.BYTE_ARRAY_OFFSET + at, value);
  }

  private static int padded(int size) {
    return size + 7 & ~7;
  }
}
