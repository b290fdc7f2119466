package counterfoil.messages;

/** Numbers of any size as values: Long, BigInteger and Double; the meaning is that of counterfoil.schema.plans.derivations. */
public final class Wholes {
  private static final java.math.BigInteger THOUSAND = java.math.BigInteger.valueOf(1000);
  private static final java.math.BigInteger FIRST_NANOS = new java.math.BigInteger("-62135596800000000000");
  private static final java.math.BigInteger LAST_NANOS = new java.math.BigInteger("253402300799999999999");

  private Wholes() {
  }

  private static Failure beyond(String field, Object value, String type) {
    return new Failure(Codes.OUT_OF_RANGE, field, value + " does not fit " + type);
  }

  /** Return a number as a whole number of so many bits, with a sign or without. */
  public static Object toWhole(Object value, int bits, boolean isSigned, String type, String field) {
    java.math.BigInteger whole;
    if (value instanceof Double) {
      double real = ((Double) value).doubleValue();
      if (Double.isNaN(real) || Double.isInfinite(real) || real != Math.floor(real)) {
        throw new Failure(Codes.CAST_FAILED, field, value + " is no whole number");
      }
      whole = new java.math.BigDecimal(real).toBigInteger();
    } else {
      whole = Values.big(value);
    }
    if (isSigned ? whole.bitLength() >= bits : whole.signum() < 0 || whole.bitLength() > bits) {
      throw beyond(field, value, type);
    }
    return Values.whole(whole);
  }

  /** Return a text as a whole number of so many bits. */
  public static Object wholeOfText(byte[] data, int from, int to, int bits, String type, String field) {
    java.math.BigInteger whole = Numbers.bigOfText(data, from, to, field);
    return toWhole(whole, bits, false, type, field);
  }

  public static double toDouble(Object value, String field) {
    double made = ((Number) value).doubleValue();
    if (Double.isInfinite(made) && !(value instanceof Double)) {
      throw beyond(field, value, "double");
    }
    return made;
  }

  public static double toFloat(Object value, String field) {
    if (value instanceof Long) {
      return (double) (float) ((Long) value).longValue();
    }
    return Numbers.toFloat(toDouble(value, field), field);
  }

  /** Return a field as an operand of a formula. */
  public static double operand(Object value, String path, String field) {
    double made = ((Number) value).doubleValue();
    if (Double.isInfinite(made) && !(value instanceof Double)) {
      throw new Failure(Codes.OVERFLOW, field, path + " is beyond a double");
    }
    return Numbers.operand(made, path, field);
  }

  /** Return the exact number of a value; of a real one, the shortest digits that name it. */
  public static java.math.BigDecimal decimal(Object value, String field) {
    if (value instanceof Double) {
      return Numbers.decimalOfReal(((Double) value).doubleValue(), false, field);
    }
    return new java.math.BigDecimal(Values.big(value));
  }

  /** Return a real number that JSON has. */
  public static double finite(double value, String field) {
    if (Double.isNaN(value) || Double.isInfinite(value)) {
      throw new Failure(Codes.CAST_FAILED, field, value + " is no number in JSON");
    }
    return value;
  }

  /** Make the text of a number with decimals. */
  public static void text(Texts made, Object value, int decimals, String field) {
    if (value instanceof Double) {
      Numbers.realText(made, ((Double) value).doubleValue(), decimals, false, field);
      return;
    }
    StringBuilder text = new StringBuilder(value.toString());
    for (int i = 0; i < decimals; i++) {
      text.append(i == 0 ? ".0" : "0");
    }
    made.set(text.toString());
  }

  /** Return a point in time of any size in another unit; parts smaller than the unit are rounded down. */
  public static long rescaled(Object value, long up, long down, String type, String field) {
    if (value instanceof Long) {
      return Numbers.rescaled(((Long) value).longValue(), up, down, type, field);
    }
    java.math.BigInteger scaled = Values.big(value).multiply(java.math.BigInteger.valueOf(up));
    scaled = floor(scaled, java.math.BigInteger.valueOf(down));
    if (scaled.bitLength() > 63) {
      throw beyond(field, value, type);
    }
    return scaled.longValue();
  }

  /** Return a number of any size of units since 1970 as a clock shows it, or back. */
  public static Object shifted(Object value, java.time.zone.ZoneRules rules, long ticks, boolean isBack,
      java.math.BigInteger low, java.math.BigInteger high, String type, String field) {
    java.math.BigInteger units = java.math.BigInteger.valueOf(ticks);
    java.math.BigInteger whole = floor(Values.big(value), units);
    if (whole.bitLength() > 63) {
      throw new Failure(Codes.OUT_OF_RANGE, field, value + " is not in the years 1 to 9999");
    }
    java.math.BigInteger rest = Values.big(value).subtract(whole.multiply(units));
    long second = Moments.second(whole.longValue(), rules, isBack, value, field);
    java.math.BigInteger made = java.math.BigInteger.valueOf(second).multiply(units).add(rest);
    return Values.whole(Numbers.within(made, low, high, type, field));
  }

  /** Return a point in time as nanoseconds of any size, in the years 1 to 9999. */
  public static Object wide(long value, long up, String type, String field) {
    java.math.BigInteger made = java.math.BigInteger.valueOf(value).multiply(java.math.BigInteger.valueOf(up));
    if (made.compareTo(FIRST_NANOS) < 0 || made.compareTo(LAST_NANOS) > 0) {
      throw beyond(field, Long.valueOf(value), type);
    }
    return Values.whole(made);
  }

  /** Return nanoseconds as microseconds; one that is beyond all years for one that has more than 64 bits. */
  public static long micros(Object nanos) {
    if (nanos instanceof Long) {
      return Math.floorDiv(((Long) nanos).longValue(), 1000L);
    }
    java.math.BigInteger made = floor(Values.big(nanos), THOUSAND);
    return made.bitLength() > 63 ? Long.MAX_VALUE : made.longValue();
  }

  private static java.math.BigInteger floor(java.math.BigInteger value, java.math.BigInteger by) {
    java.math.BigInteger[] parts = value.divideAndRemainder(by);
    return parts[1].signum() < 0 ? parts[0].subtract(java.math.BigInteger.ONE) : parts[0];
  }
}
