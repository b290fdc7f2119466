package counterfoil.runtime;

/** Casts and arithmetic; the meaning is that of counterfoil.schema.plans.derivations. */
public final class Numbers {
  private static final int MAX_NUMBER_LENGTH = 400;
  private static final int MAX_DECIMAL_DIGITS = 1000;
  private static final int LONG_DIGITS = 18;
  private static final int SAFE_DIGITS = 15;
  private static final double SAFE_DOUBLE = 1e15;
  private static final double SAFE_FLOAT = 1e6;
  private static final int MOST_FLOAT_DIGITS = 9;
  private static final double[] TENS = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};

  private Numbers() {
  }

  private static Failure refused(String field, String value, String problem) {
    return new Failure(Codes.CAST_FAILED, field, value + " is " + problem);
  }

  private static Failure beyond(String field, String value, String type) {
    return new Failure(Codes.OUT_OF_RANGE, field, value + " does not fit " + type);
  }

  // -- constants of generated code

  /** Return the numbers in a text, with a comma between any two. */
  public static long[] longs(String text) {
    String[] parts = text.length() == 0 ? new String[0] : text.split(",");
    long[] made = new long[parts.length];
    for (int i = 0; i < parts.length; i++) {
      made[i] = Long.parseLong(parts[i]);
    }
    return made;
  }

  public static int[] ints(String text) {
    long[] numbers = longs(text);
    int[] made = new int[numbers.length];
    for (int i = 0; i < numbers.length; i++) {
      made[i] = (int) numbers[i];
    }
    return made;
  }

  // -- whole and real numbers

  public static long toInt(long value, String type, String field) {
    if (value != (int) value) {
      throw beyond(field, Long.toString(value), type);
    }
    return value;
  }

  public static long wholeOf(double value, boolean isInt, String type, String field) {
    if (Double.isNaN(value) || Double.isInfinite(value) || value != Math.floor(value)) {
      throw refused(field, Double.toString(value), "no whole number");
    }
    double limit = isInt ? 2147483648.0 : 9223372036854775808.0;
    if (value < -limit || value >= limit) {
      throw beyond(field, Double.toString(value), type);
    }
    return (long) value;
  }

  public static double toFloat(double value, String field) {
    double near = (float) value;
    if (Double.isInfinite(near) && !Double.isInfinite(value)) {
      throw beyond(field, Double.toString(value), "float");
    }
    return near;
  }

  public static boolean booleanOf(long value, String field) {
    if (value != 0 && value != 1) {
      throw refused(field, Long.toString(value), "neither 0 nor 1");
    }
    return value == 1;
  }

  /** Return a point in time in another unit; parts smaller than the unit are rounded down. */
  public static long rescaled(long value, long up, long down, String type, String field) {
    if (up < down) {
      return Math.floorDiv(value, down / up);
    }
    long factor = up / down;
    if (value > Long.MAX_VALUE / factor || value < Long.MIN_VALUE / factor) {
      throw beyond(field, Long.toString(value), type);
    }
    return value * factor;
  }

  // -- text as numbers

  private static String stripped(byte[] data, int from, int to) {
    int start = from;
    int end = to;
    while (start < end && isBlank(data[start])) {
      start++;
    }
    while (end > start && isBlank(data[end - 1])) {
      end--;
    }
    return end - start <= MAX_NUMBER_LENGTH ? Texts.string(data, start, end) : null;
  }

  private static boolean isBlank(int letter) {
    return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n';
  }

  private static int digits(String text, int from) {
    int p = from;
    while (p < text.length() && text.charAt(p) >= '0' && text.charAt(p) <= '9') {
      p++;
    }
    return p;
  }

  private static int sign(String text) {
    return text.length() > 0 && (text.charAt(0) == '+' || text.charAt(0) == '-') ? 1 : 0;
  }

  private static boolean isReal(String text) {
    int begin = sign(text);
    int p = digits(text, begin);
    int count = p - begin;
    if (p < text.length() && text.charAt(p) == '.') {
      int end = digits(text, p + 1);
      count += end - p - 1;
      p = end;
    }
    if (count == 0) {
      return false;
    }
    if (p < text.length() && (text.charAt(p) == 'e' || text.charAt(p) == 'E')) {
      p++;
      if (p < text.length() && (text.charAt(p) == '+' || text.charAt(p) == '-')) {
        p++;
      }
      int end = digits(text, p);
      if (end == p) {
        return false;
      }
      p = end;
    }
    return p == text.length();
  }

  public static long wholeOfText(byte[] data, int from, int to, boolean isInt, String type, String field) {
    String text = stripped(data, from, to);
    int begin = text == null ? 0 : sign(text);
    if (text == null || begin == text.length() || digits(text, begin) != text.length()) {
      throw refused(field, Texts.shown(data, from, to), "no whole number");
    }
    long value;
    if (text.length() <= LONG_DIGITS) {
      value = Long.parseLong(text);
    } else {
      java.math.BigInteger exact = new java.math.BigInteger(text);
      if (exact.bitLength() > 63) {
        throw beyond(field, Texts.shown(data, from, to), type);
      }
      value = exact.longValue();
    }
    if (isInt && value != (int) value) {
      throw beyond(field, Texts.shown(data, from, to), type);
    }
    return value;
  }

  /** Return the whole number of any size in a text. */
  public static java.math.BigInteger bigOfText(byte[] data, int from, int to, String field) {
    String text = stripped(data, from, to);
    int begin = text == null ? 0 : sign(text);
    if (text == null || begin == text.length() || digits(text, begin) != text.length()) {
      throw refused(field, Texts.shown(data, from, to), "no whole number");
    }
    return new java.math.BigInteger(text);
  }

  public static double realOfText(byte[] data, int from, int to, boolean isFloat, String field) {
    String text = stripped(data, from, to);
    if (text == null || !isReal(text)) {
      throw refused(field, Texts.shown(data, from, to), "no number");
    }
    double value = isFloat ? (double) Float.parseFloat(text) : Double.parseDouble(text);
    if (Double.isInfinite(value)) {
      throw beyond(field, Texts.shown(data, from, to), isFloat ? "float" : "double");
    }
    return value;
  }

  public static boolean booleanOfText(byte[] data, int from, int to, String field) {
    if (to - from == 4 && data[from] == 't' && data[from + 1] == 'r' && data[from + 2] == 'u'
        && data[from + 3] == 'e') {
      return true;
    }
    if (to - from == 5 && data[from] == 'f' && data[from + 1] == 'a' && data[from + 2] == 'l'
        && data[from + 3] == 's' && data[from + 4] == 'e') {
      return false;
    }
    throw refused(field, Texts.shown(data, from, to), "neither true nor false");
  }

  /** Return the number of the symbol that a text is. */
  public static long symbolOf(byte[] data, int from, int to, byte[][] symbols, String field) {
    int place = Texts.placeOf(data, from, to, symbols);
    if (place < 0) {
      throw refused(field, Texts.shown(data, from, to), "no symbol of the target");
    }
    return place;
  }

  public static void checkUuid(byte[] data, int from, int to, String field) {
    boolean is = to - from == 36;
    for (int i = 0; is && i < 36; i++) {
      int letter = data[from + i];
      boolean isHex = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f')
          || (letter >= 'A' && letter <= 'F');
      is = i == 8 || i == 13 || i == 18 || i == 23 ? letter == '-' : isHex;
    }
    if (!is) {
      throw refused(field, Texts.shown(data, from, to), "no UUID");
    }
  }

  public static void checkUtf8(byte[] data, int from, int to, String field) {
    if (!Texts.isUtf8(data, from, to)) {
      throw refused(field, Texts.shownBytes(data, from, to), "not UTF-8");
    }
  }

  public static void checkSize(byte[] data, int from, int to, int size, String field) {
    if (to - from != size) {
      throw refused(field, Texts.shownBytes(data, from, to), "not " + size + " bytes long");
    }
  }

  // -- numbers as text

  public static void text(Texts made, long value) {
    made.set(Long.toString(value));
  }

  /** Make the text of a real number: its shortest digits, rounded half up to the decimals. */
  public static void realText(Texts made, double value, int decimals, boolean isFloat, String field) {
    decimalText(made, decimalOfReal(value, isFloat, field), decimals, java.math.RoundingMode.HALF_UP, field);
  }

  /** Return the number with few decimals that a real number is nearest to; null where there is none. */
  private static java.math.BigDecimal few(double value, double most, boolean isFloat) {
    for (int places = 0; places < TENS.length; places++) {
      double whole = Math.rint(value * TENS[places]);
      if (whole >= most || whole <= -most) {
        return null;
      }
      double back = whole / TENS[places];
      if (isFloat ? (float) back == (float) value : back == value) {
        return java.math.BigDecimal.valueOf((long) whole, places);
      }
    }
    return null;
  }

  /** Return the shortest digits that name a double. */
  public static java.math.BigDecimal shortestDouble(double value) {
    java.math.BigDecimal found = few(value, SAFE_DOUBLE, false);
    if (found != null) {
      return found;
    }
    java.math.BigDecimal exact = new java.math.BigDecimal(value);
    for (int digits = Math.abs(value) < Double.MIN_NORMAL ? 1 : SAFE_DIGITS; digits < 17; digits++) {
      java.math.BigDecimal down = rounded(exact, digits, java.math.RoundingMode.DOWN);
      java.math.BigDecimal up = rounded(exact, digits, java.math.RoundingMode.UP);
      boolean isDown = down.doubleValue() == value;
      boolean isUp = up.doubleValue() == value;
      if (isDown && isUp) {
        return rounded(exact, digits, java.math.RoundingMode.HALF_EVEN);
      }
      if (isDown || isUp) {
        return isDown ? down : up;
      }
    }
    return rounded(exact, 17, java.math.RoundingMode.HALF_EVEN);
  }

  private static java.math.BigDecimal shortestFloat(float value) {
    java.math.BigDecimal found = few(value, SAFE_FLOAT, true);
    if (found != null) {
      return found;
    }
    java.math.BigDecimal exact = new java.math.BigDecimal((double) value);
    for (int digits = 1; digits < MOST_FLOAT_DIGITS; digits++) {
      java.math.BigDecimal near = rounded(exact, digits, java.math.RoundingMode.HALF_EVEN);
      if ((float) near.doubleValue() == value) {
        return near;
      }
    }
    return rounded(exact, MOST_FLOAT_DIGITS, java.math.RoundingMode.HALF_EVEN);
  }

  private static java.math.BigDecimal rounded(java.math.BigDecimal value, int digits, java.math.RoundingMode mode) {
    return value.round(new java.math.MathContext(digits, mode));
  }

  // -- decimals

  public static java.math.BigDecimal decimal(byte[] data, int from, int to, int scale) {
    if (from == to) {
      return java.math.BigDecimal.valueOf(0, scale);
    }
    return new java.math.BigDecimal(new java.math.BigInteger(java.util.Arrays.copyOfRange(data, from, to)), scale);
  }

  /** Return exactly the number in a text; null where it is not zero and has too many digits. */
  public static java.math.BigDecimal decimalOfText(byte[] data, int from, int to, String field) {
    String text = stripped(data, from, to);
    if (text == null || !isReal(text)) {
      throw refused(field, Texts.shown(data, from, to), "no number");
    }
    int mark = Math.max(text.indexOf('e'), text.indexOf('E'));
    java.math.BigDecimal mantissa = new java.math.BigDecimal(mark < 0 ? text : text.substring(0, mark));
    if (mark < 0 || mantissa.signum() == 0) {
      return mantissa;
    }
    java.math.BigInteger exponent = new java.math.BigInteger(text.substring(mark + 1));
    if (exponent.bitLength() > 20) {
      return null;
    }
    return mantissa.scaleByPowerOfTen(exponent.intValue());
  }

  /** Return the shortest digits that name a real number. */
  public static java.math.BigDecimal decimalOfReal(double value, boolean isFloat, String field) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      throw refused(field, Double.toString(value), "no number that has decimals");
    }
    return isFloat ? shortestFloat((float) value) : shortestDouble(value);
  }

  /** Return a number rounded to so many places; -1: all that it has. */
  private static java.math.BigDecimal places(java.math.BigDecimal number, int places, java.math.RoundingMode mode,
      String field) {
    try {
      return places < 0 ? number : number.setScale(places, mode);
    } catch (ArithmeticException inexact) {
      throw refused(field, number.toPlainString(), "more exact than " + places + " decimals");
    }
  }

  /** Make the text of a decimal, rounded to so many places; -1: all that it has. */
  public static void decimalText(Texts made, java.math.BigDecimal number, int places, java.math.RoundingMode mode,
      String field) {
    made.set(places(number, places, mode, field).toPlainString());
  }

  /** Return a number that is small enough for its digits to be computed with; null is one that is not. */
  public static java.math.BigDecimal moderate(java.math.BigDecimal number, String type, String field) {
    if (number == null) {
      throw beyond(field, "the number", type);
    }
    int adjusted = number.precision() - number.scale() - 1;
    if (number.signum() != 0 && (adjusted > MAX_DECIMAL_DIGITS || adjusted < -MAX_DECIMAL_DIGITS)) {
      throw beyond(field, "the number", type);
    }
    return number;
  }

  /** Return a number multiplied, divided and rounded to a whole one. */
  public static java.math.BigInteger rounded(java.math.BigDecimal given, java.math.BigDecimal up,
      java.math.BigDecimal down, java.math.RoundingMode mode, String type, String field) {
    java.math.BigDecimal number = moderate(given, type, field);
    try {
      return number.multiply(up).divide(down, 0, mode).toBigInteger();
    } catch (ArithmeticException inexact) {
      throw refused(field, number.toPlainString(), "no whole number");
    }
  }

  /** Return a whole number within limits. */
  public static java.math.BigInteger within(java.math.BigInteger whole, java.math.BigInteger low,
      java.math.BigInteger high, String type, String field) {
    if (whole.compareTo(low) < 0 || whole.compareTo(high) > 0) {
      throw beyond(field, whole.toString(), type);
    }
    return whole;
  }

  /**
   * Make the bytes of a decimal in the target's scale; {@code size} is that of a fixed type, else -1, and {@code
   * places} are those to which it is rounded before, or -1.
   */
  public static void decimalBytes(Texts made, java.math.BigDecimal given, int scale, int precision, int size,
      int places, java.math.RoundingMode mode, String type, String field) {
    java.math.BigDecimal number = places(moderate(given, type, field), places, mode, field);
    java.math.BigInteger unscaled = java.math.BigInteger.ZERO;
    if (number.signum() != 0) {
      try {
        unscaled = number.setScale(scale, java.math.RoundingMode.UNNECESSARY).unscaledValue();
      } catch (ArithmeticException inexact) {
        throw refused(field, number.toPlainString(), "more exact than " + scale + " decimals");
      }
    }
    scaledBytes(made, unscaled, precision, size, type, field);
  }

  /** Make the bytes of a decimal of its number of units of the last place. */
  public static void scaledBytes(Texts made, java.math.BigInteger unscaled, int precision, int size, String type,
      String field) {
    if (unscaled.abs().toString().length() > precision) {
      throw beyond(field, unscaled.toString(), type);
    }
    byte[] fewest = unscaled.toByteArray();
    if (size < 0 || size == fewest.length) {
      made.set(fewest);
      return;
    }
    if (size < fewest.length) {
      throw beyond(field, unscaled.toString(), type);
    }
    byte[] wide = new byte[size];
    java.util.Arrays.fill(wide, 0, size - fewest.length, (byte) (unscaled.signum() < 0 ? -1 : 0));
    System.arraycopy(fewest, 0, wide, size - fewest.length, fewest.length);
    made.set(wide);
  }

  // -- formulas

  private static Failure overflow(String field) {
    return new Failure(Codes.OVERFLOW, field, "the result is beyond 64 bits");
  }

  public static double operand(double value, String path, String field) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      String text = path + " is " + value + ", which is no number to reckon with";
      throw new Failure(Codes.NOT_A_NUMBER, field, text);
    }
    return value;
  }

  public static double finite(double value, String field) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      throw new Failure(Codes.OVERFLOW, field, "the result is beyond a double");
    }
    return value;
  }

  public static double divided(double left, double right, String field) {
    if (right == 0) {
      throw new Failure(Codes.DIVISION_BY_ZERO, field, left + " divided by zero");
    }
    return finite(left / right, field);
  }

  public static long added(long left, long right, String field) {
    long sum = left + right;
    if (((left ^ sum) & (right ^ sum)) < 0) {
      throw overflow(field);
    }
    return sum;
  }

  public static long subtracted(long left, long right, String field) {
    long difference = left - right;
    if (((left ^ right) & (left ^ difference)) < 0) {
      throw overflow(field);
    }
    return difference;
  }

  public static long multiplied(long left, long right, String field) {
    try {
      return Math.multiplyExact(left, right);
    } catch (ArithmeticException tooLarge) {
      throw overflow(field);
    }
  }

  public static long absolute(long value, String field) {
    return value < 0 ? subtracted(0, value, field) : value;
  }
}
