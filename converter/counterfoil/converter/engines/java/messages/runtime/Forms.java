package counterfoil.messages;

/** Values that have a form as text; the meaning is that of counterfoil.schema.plans.text_forms. */
public final class Forms {
  private static final long FIRST_SECOND = -62135596800L;
  private static final long LAST_SECOND = 253402300799L;

  private Forms() {
  }

  private static Failure unreadable(Texts text, String expected, String field) {
    String shown = Texts.shown(text.data, text.from, text.to);
    return new Failure(Codes.PARSE_FAILED, field, shown + " is not " + expected);
  }

  private static Failure outOfYears(Object value, String field) {
    return new Failure(Codes.FORMAT_FAILED, field, value + " is not in the years 1 to 9999");
  }

  // -- points in time

  /**
   * Return an RFC 3339 text as a number of units since 1970; {@code mode} rounds digits that the unit has not, and null
   * refuses them. Without {@code type} the number has any size, else 64 bits.
   */
  public static Object instant(byte[] data, int from, int to, long ticks, java.math.RoundingMode mode, String type,
      String field) {
    Texts text = Values.span(data, from, to);
    int p = from + 19;
    boolean is = to - from >= 20 && isDate(data, from) && (data[from + 10] | 0x20) == 't' && isTime(data, from + 11);
    int fraction = p;
    int zone = p;
    if (is && data[p] == '.') {
      fraction = p + 1;
      zone = fraction;
      while (zone < to && isDigit(data[zone])) {
        zone++;
      }
      is = zone > fraction;
    }
    is = is && isZone(data, zone, to);
    if (!is) {
      throw unreadable(text, "a date and time such as 2026-01-31T12:00:00Z", field);
    }
    long second = day(data, from);
    int hour = number(data, from + 11, 2);
    int minute = number(data, from + 14, 2);
    int rest = number(data, from + 17, 2);
    int offset = 0;
    if (to - zone == 6) {
      int hours = number(data, zone + 1, 2);
      offset = (hours * 60 + number(data, zone + 4, 2)) * 60 * (data[zone] == '-' ? -1 : 1);
      is = hours < 24;
    }
    if (!is || second == Long.MIN_VALUE || hour > 23 || minute > 59 || rest > 59) {
      throw unreadable(text, "a date and time that exist", field);
    }
    second = second * 86400L + (hour * 60 + minute) * 60 + rest - offset;
    java.math.BigInteger made = withFraction(text, second, ticks, fraction == p ? zone : fraction, zone, mode, field);
    if (type != null && made.bitLength() > 63) {
      throw new Failure(Codes.OUT_OF_RANGE, field, Texts.shown(data, from, to) + " does not fit " + type);
    }
    return Values.whole(made);
  }

  private static java.math.BigInteger withFraction(Texts text, long second, long ticks, int from, int to,
      java.math.RoundingMode mode, String field) {
    int digits = Long.toString(ticks).length() - 1;
    int end = to;
    while (end > from && text.data[end - 1] == '0') {
      end--;
    }
    if (end - from > digits && mode == null) {
      throw unreadable(text, "at most " + digits + " digits after the second", field);
    }
    long part = 0;
    for (int i = 0; i < digits; i++) {
      part = part * 10 + (from + i < end ? text.data[from + i] - '0' : 0);
    }
    java.math.BigInteger whole = java.math.BigInteger.valueOf(second).multiply(java.math.BigInteger.valueOf(ticks));
    whole = whole.add(java.math.BigInteger.valueOf(part));
    if (end - from <= digits) {
      return whole;
    }
    // the first digit that is not kept, and whether there is anything behind it: no other digit matters
    int rest = 10 * (text.data[from + digits] - '0') + (end - from > digits + 1 ? 1 : 0);
    java.math.BigDecimal exact = new java.math.BigDecimal(whole).add(java.math.BigDecimal.valueOf(rest, 2));
    return exact.setScale(0, mode).toBigInteger();
  }

  private static boolean isZone(byte[] data, int at, int to) {
    if (to - at == 1) {
      return (data[at] | 0x20) == 'z';
    }
    return to - at == 6 && (data[at] == '+' || data[at] == '-') && isDigit(data[at + 1]) && isDigit(data[at + 2])
        && data[at + 3] == ':' && data[at + 4] >= '0' && data[at + 4] <= '5' && isDigit(data[at + 5]);
  }

  private static boolean isTime(byte[] data, int at) {
    return isDigit(data[at]) && isDigit(data[at + 1]) && data[at + 2] == ':' && isDigit(data[at + 3])
        && isDigit(data[at + 4]) && data[at + 5] == ':' && isDigit(data[at + 6]) && isDigit(data[at + 7]);
  }

  private static boolean isDigit(int letter) {
    return letter >= '0' && letter <= '9';
  }

  private static int number(byte[] data, int at, int width) {
    int made = 0;
    for (int i = 0; i < width; i++) {
      made = made * 10 + data[at + i] - '0';
    }
    return made;
  }

  /** Make the text of a point in time, with the clock of a zone, or in UTC without one. */
  public static void dateTime(Texts made, Object value, long ticks, java.time.zone.ZoneRules rules, String field) {
    java.math.BigInteger[] parts = Values.big(value).divideAndRemainder(java.math.BigInteger.valueOf(ticks));
    long rest = parts[1].longValue();
    java.math.BigInteger whole = rest < 0 ? parts[0].subtract(java.math.BigInteger.ONE) : parts[0];
    if (whole.bitLength() > 63 || !isInYears(whole.longValue())) {
      throw outOfYears(value, field);
    }
    long second = whole.longValue();
    int offset = rules == null ? 0 : rules.getOffset(java.time.Instant.ofEpochSecond(second)).getTotalSeconds();
    if (!isInYears(second + offset)) {
      throw outOfYears(value, field);
    }
    if (offset % 60 != 0) {
      String problem = " is at a time when the clock of the zone was ahead by a part of a minute";
      throw new Failure(Codes.FORMAT_FAILED, field, value + problem);
    }
    java.time.LocalDateTime wall =
        java.time.LocalDateTime.ofEpochSecond(second + offset, 0, java.time.ZoneOffset.UTC);
    StringBuilder text = new StringBuilder();
    date(text, wall.toLocalDate());
    text.append('T');
    padded(text, wall.getHour(), 2);
    text.append(':');
    padded(text, wall.getMinute(), 2);
    text.append(':');
    padded(text, wall.getSecond(), 2);
    fraction(text, rest < 0 ? rest + ticks : rest, Long.toString(ticks).length() - 1);
    zone(text, offset / 60, rules == null);
    made.set(text.toString());
  }

  private static boolean isInYears(long second) {
    return second >= FIRST_SECOND && second <= LAST_SECOND;
  }

  private static void zone(StringBuilder text, int minutes, boolean isUtc) {
    if (isUtc) {
      text.append('Z');
      return;
    }
    text.append(minutes < 0 ? '-' : '+');
    padded(text, Math.abs(minutes) / 60, 2);
    text.append(':');
    padded(text, Math.abs(minutes) % 60, 2);
  }

  private static void fraction(StringBuilder text, long rest, int digits) {
    if (rest == 0) {
      return;
    }
    text.append('.');
    padded(text, rest, digits);
    int end = text.length();
    while (text.charAt(end - 1) == '0') {
      end--;
    }
    text.setLength(end);
  }

  private static void padded(StringBuilder text, long value, int width) {
    String digits = Long.toString(value);
    for (int i = digits.length(); i < width; i++) {
      text.append('0');
    }
    text.append(digits);
  }

  private static void date(StringBuilder text, java.time.LocalDate date) {
    padded(text, date.getYear(), 4);
    text.append('-');
    padded(text, date.getMonthValue(), 2);
    text.append('-');
    padded(text, date.getDayOfMonth(), 2);
  }

  // -- dates

  private static boolean isDate(byte[] data, int at) {
    for (int i = 0; i < 10; i++) {
      if (i == 4 || i == 7 ? data[at + i] != '-' : !isDigit(data[at + i])) {
        return false;
      }
    }
    return true;
  }

  /** Return the day of a date; the smallest number for one that does not exist. */
  private static long day(byte[] data, int at) {
    int year = number(data, at, 4);
    int month = number(data, at + 5, 2);
    int day = number(data, at + 8, 2);
    if (year < 1 || month < 1 || month > 12 || day < 1 || day > java.time.YearMonth.of(year, month).lengthOfMonth()) {
      return Long.MIN_VALUE;
    }
    return java.time.LocalDate.of(year, month, day).toEpochDay();
  }

  /** Return a text such as 2026-01-31 as the number of days since 1970. */
  public static long dayOfText(byte[] data, int from, int to, String field) {
    long day = to - from == 10 && isDate(data, from) ? day(data, from) : Long.MIN_VALUE;
    if (day == Long.MIN_VALUE) {
      throw unreadable(Values.span(data, from, to), "a date that exists, such as 2026-01-31", field);
    }
    return day;
  }

  public static void fullDate(Texts made, long day, String field) {
    if (day < -719162 || day > 2932896) {
      throw outOfYears(Long.valueOf(day), field);
    }
    StringBuilder text = new StringBuilder();
    date(text, java.time.LocalDate.ofEpochDay(day));
    made.set(text.toString());
  }

  // -- base64

  public static void base64(Texts made, byte[] data, int from, int to) {
    made.set(java.util.Base64.getEncoder().encode(java.util.Arrays.copyOfRange(data, from, to)));
  }

  /** Make the bytes of a base64 text with padding. */
  public static void ofBase64(Texts made, byte[] data, int from, int to, String field) {
    int length = to - from;
    int padding = length > 0 && data[to - 1] == '=' ? length > 1 && data[to - 2] == '=' ? 2 : 1 : 0;
    boolean is = length % 4 == 0;
    for (int i = from; is && i < to - padding; i++) {
      int letter = data[i];
      is = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || isDigit(letter) || letter == '+'
          || letter == '/';
    }
    if (!is) {
      throw unreadable(Values.span(data, from, to), "base64 with padding", field);
    }
    made.set(java.util.Base64.getDecoder().decode(java.util.Arrays.copyOfRange(data, from, to)));
  }
}
