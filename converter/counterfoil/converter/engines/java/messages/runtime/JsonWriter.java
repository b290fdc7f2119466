package counterfoil.messages;

/** Writes JSON texts: compact, characters unescaped where they may be; each value is checked against its limits. */
public final class JsonWriter {
  private static final byte[] TRUE = Texts.bytes("true");
  private static final byte[] FALSE = Texts.bytes("false");
  private static final byte[] NULL = Texts.bytes("null");
  private static final String HEX = "0123456789abcdef";
  private static final int FIRST_FIXED = -5;
  private static final int LAST_FIXED = 15;

  private Output out;
  private final byte[] digits = new byte[20];

  /** Check a value, write it, and append it to the output. */
  public void write(JsonForm form, Object value, Output output) {
    if (form.isLimited) {
      JsonChecks.value(form, value);
    }
    out = output;
    value(form, value);
    out = null;
  }

  private void value(JsonForm form, Object value) {
    if (value == null) {
      out.put(NULL);
    } else if (form.kind == JsonForm.PLAIN) {
      plain(value);
    } else {
      withParts(form, value);
    }
  }

  private void withParts(JsonForm form, Object value) {
    if (value instanceof Object[]) {
      record(JsonChecks.formOf(form, JsonForm.RECORD), (Object[]) value);
    } else if (value instanceof Entries) {
      entries(JsonChecks.formOf(form, JsonForm.MAP).inner, (Entries) value);
    } else if (value instanceof Items) {
      items(JsonChecks.formOf(form, JsonForm.ARRAY).inner, (Items) value);
    } else {
      plain(value);
    }
  }

  private void record(JsonForm form, Object[] values) {
    boolean isFirst = true;
    out.putByte('{');
    for (int i = 0; i < values.length; i++) {
      if (values[i] != null || form.writesNull[i]) {
        if (!isFirst) {
          out.putByte(',');
        }
        isFirst = false;
        out.put(form.written[i]);
        value(form.forms[i], values[i]);
      }
    }
    out.putByte('}');
  }

  private void entries(JsonForm inner, Entries entries) {
    out.putByte('{');
    for (int i = 0; i < entries.count; i++) {
      if (i > 0) {
        out.putByte(',');
      }
      text(entries.keys[i]);
      out.putByte(':');
      value(inner, entries.values[i]);
    }
    out.putByte('}');
  }

  private void items(JsonForm inner, Items items) {
    out.putByte('[');
    for (int i = 0; i < items.count; i++) {
      if (i > 0) {
        out.putByte(',');
      }
      value(inner, items.values[i]);
    }
    out.putByte(']');
  }

  private void plain(Object value) {
    if (value instanceof Texts) {
      text((Texts) value);
    } else if (value instanceof Long) {
      whole(((Long) value).longValue());
    } else if (value instanceof Double) {
      real(((Double) value).doubleValue());
    } else if (value instanceof Boolean) {
      out.put(value == Boolean.TRUE ? TRUE : FALSE);
    } else {
      out.put(Texts.bytes(value.toString()));
    }
  }

  private void text(Texts text) {
    byte[] data = text.data;
    int from = text.from;
    out.putByte('"');
    for (int i = from; i < text.to; i++) {
      int letter = data[i];
      if (letter == '"' || letter == '\\' || (letter >= 0 && letter < ' ')) {
        out.put(data, from, i);
        escape(letter);
        from = i + 1;
      }
    }
    out.put(data, from, text.to);
    out.putByte('"');
  }

  private void escape(int letter) {
    out.putByte('\\');
    switch (letter) {
      case '"':
      case '\\': out.putByte(letter); return;
      case '\b': out.putByte('b'); return;
      case '\f': out.putByte('f'); return;
      case '\n': out.putByte('n'); return;
      case '\r': out.putByte('r'); return;
      case '\t': out.putByte('t'); return;
      default:
        out.putByte('u');
        out.putByte('0');
        out.putByte('0');
        out.putByte(HEX.charAt(letter >> 4));
        out.putByte(HEX.charAt(letter & 15));
    }
  }

  private void whole(long value) {
    if (value == Long.MIN_VALUE) {
      out.put(Texts.bytes(Long.toString(value)));
      return;
    }
    int at = digits.length;
    long rest = Math.abs(value);
    do {
      digits[--at] = (byte) ('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    if (value < 0) {
      digits[--at] = (byte) '-';
    }
    out.put(digits, at, digits.length);
  }

  /** Write the shortest digits of a number; with an exponent below 1e-5 and from 1e16 on. */
  private void real(double value) {
    if (value < 0 || 1 / value < 0) {
      out.putByte('-');
    }
    if (value == 0) {
      fixed(Texts.bytes("0"), 0);
      return;
    }
    java.math.BigDecimal exact = Numbers.shortestDouble(Math.abs(value));
    byte[] all = Texts.bytes(exact.unscaledValue().toString());
    int exponent = all.length - 1 - exact.scale();
    int count = all.length;
    while (count > 1 && all[count - 1] == '0') {
      count--;
    }
    byte[] shortest = java.util.Arrays.copyOf(all, count);
    if (exponent >= FIRST_FIXED && exponent <= LAST_FIXED) {
      fixed(shortest, exponent);
    } else {
      out.put(shortest, 0, 1);
      if (count > 1) {
        out.putByte('.');
        out.put(shortest, 1, count);
      }
      out.put(Texts.bytes(exponent < 0 ? "e" + exponent : "e+" + exponent));
    }
  }

  /** Write digits of which the first stands for that power of ten. */
  private void fixed(byte[] shortest, int exponent) {
    if (exponent < 0) {
      out.putByte('0');
      out.putByte('.');
      for (int i = -1; i > exponent; i--) {
        out.putByte('0');
      }
      out.put(shortest);
      return;
    }
    for (int i = 0; i <= exponent; i++) {
      out.putByte(i < shortest.length ? shortest[i] : (byte) '0');
    }
    out.putByte('.');
    if (shortest.length > exponent + 1) {
      out.put(shortest, exponent + 1, shortest.length);
    } else {
      out.putByte('0');
    }
  }
}
