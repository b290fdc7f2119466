import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
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

/** The topic, value and headers of a record that is written, and the code of the reason if it is a dead letter. */
public final class Outgoing extends Function {
  private static final UTF8String PLAN = UTF8String.fromString(Names.PLAN);
  private static final UTF8String VIA = UTF8String.fromString(Names.VIA);
  private static final UTF8String ERROR = UTF8String.fromString(Names.ERROR);
  private static final UTF8String ERROR_FIELD = UTF8String.fromString(Names.ERROR_FIELD);
  private static final UTF8String ERROR_TEXT = UTF8String.fromString(Names.ERROR_TEXT);
  private static final UTF8String TOO_LARGE = UTF8String.fromString(Names.TOO_LARGE);

  private static final int FRAME_BYTES = 5;
  private static final int LONGEST_NUMBER = 20;

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
        .add("headers", HEADERS).add("code", DataTypes.StringType);
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
    long size = Sizes.RECORD_OVERHEAD_BYTES + Sizes.OWN_HEADERS_BYTES + lengthOf(key) + lengthOf(converted);
    InternalRow[] kept = new InternalRow[count];
    for (int i = 0; i < count; i++) {
      InternalRow header = headers.getStruct(i, 2);
      kept[i] = header;
      size += Sizes.HEADER_OVERHEAD_BYTES + header.getUTF8String(0).numBytes() + lengthOf(header.getBinary(1));
    }
    InternalRow problem = failure == null && converted != null && size > maxBytes ? tooLarge(size, maxBytes) : failure;
    Object[] all = new Object[count + (problem == null ? 3 : 6)];
    System.arraycopy(kept, 0, all, 0, count);
    long millis = keepsTimestamp ? Math.floorDiv(timestamp, 1000L) : -1L;
    all[count] = header(SOURCE, origin(topic.getBytes(), partition, offset, millis, value));
    all[count + 1] = header(PLAN, plan);
    all[count + 2] = header(VIA, via);
    if (problem == null) {
      return row(new Object[] {target, converted, new GenericArrayData(all), null});
    }
    all[count + 3] = header(ERROR, bytesOf(problem.getUTF8String(0)));
    all[count + 4] = header(ERROR_FIELD, bytesOf(problem.getUTF8String(1)));
    all[count + 5] = header(ERROR_TEXT, bytesOf(problem.getUTF8String(2)));
    return row(new Object[] {deadLetters, value, new GenericArrayData(all), problem.getUTF8String(0)});
  }

  private static InternalRow tooLarge(long size, long maxBytes) {
    String text = "the converted record takes about " + size + " bytes, and the target takes " + maxBytes;
    return row(new Object[] {TOO_LARGE, UTF8String.fromString(""), UTF8String.fromString(text)});
  }

  private static InternalRow row(Object[] values) {
    return new GenericInternalRow(values);
  }

  private static InternalRow header(UTF8String name, byte[] value) {
    return row(new Object[] {name, value});
  }

  private static int lengthOf(byte[] data) {
    return data == null ? 0 : data.length;
  }

  private static byte[] bytesOf(UTF8String text) {
    return text == null ? new byte[0] : text.getBytes();
  }

  /** Return the text of bridge.src: topic/partition/offset/timestamp/id, without the id if the value has none. */
  private static byte[] origin(byte[] topic, int partition, long offset, long millis, byte[] value) {
    byte[] text = new byte[topic.length + 4 * (1 + LONGEST_NUMBER)];
    System.arraycopy(topic, 0, text, 0, topic.length);
    int end = put(text, topic.length, partition);
    end = put(text, end, offset);
    end = put(text, end, millis);
    if (value != null && value.length > 1 && value[0] == 0) {
      long id = 0;
      for (int i = 1; i < Math.min(FRAME_BYTES, value.length); i++) {
        id = id << 8 | (value[i] & 0xff);
      }
      end = put(text, end, id);
    }
    byte[] made = new byte[end];
    System.arraycopy(text, 0, made, 0, end);
    return made;
  }

  /** Write a slash and a number in decimal, and return the end. */
  private static int put(byte[] text, int at, long number) {
    int begin = at;
    text[begin++] = '/';
    long rest = number;
    if (rest < 0) {
      text[begin++] = '-';
      rest = -rest;
    }
    int digits = 1;
    for (long left = rest; left >= 10; left /= 10) {
      digits++;
    }
    for (int i = begin + digits - 1; i >= begin; i--) {
      text[i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
    return begin + digits;
  }
}
