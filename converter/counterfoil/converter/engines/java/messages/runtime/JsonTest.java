package counterfoil.messages;

/**
 * A JSON schema with all of its keywords, for values that the limits of a type do not describe.
 *
 * <p>A keyword that the schema does not have is null, -1 or empty; a schema that accepts everything is null.
 */
public final class JsonTest {
  public static final int NULL = 1;
  public static final int BOOLEAN = 2;
  public static final int NUMBER = 4;
  public static final int INTEGER = 8;
  public static final int TEXT = 16;
  public static final int ARRAY = 32;
  public static final int OBJECT = 64;
  public static final JsonTest[] NONE = new JsonTest[0];
  private static final Object NOTHING = new Object();

  public boolean isFalse;
  public int types = -1;
  /** Whether 1.0 is a whole number. */
  public boolean countsFractions = true;
  public java.util.HashSet values;
  public JsonLimit low;
  public JsonLimit high;
  public java.math.BigDecimal factor;
  public long shortest = -1;
  public long longest = -1;
  public TextPattern pattern;

  public JsonTest[] first = NONE;
  public JsonTest items;
  /** Whether further items that are refused are wrong with the array, and not each by itself. */
  public boolean isRestOfArray;
  public long fewestItems = -1;
  public long mostItems = -1;
  public boolean isUnique;
  public JsonTest contained;
  public boolean hasContained;
  public long fewestContained = -1;
  public long mostContained = -1;

  /** The properties that are declared, with null for one that may be anything. */
  public java.util.HashMap properties = new java.util.HashMap();
  public TextPattern[] patterns = new TextPattern[0];
  public JsonTest[] ofPatterns = NONE;
  public JsonTest additional;
  public JsonTest names;
  public String[] required = new String[0];
  public long fewestProperties = -1;
  public long mostProperties = -1;
  /** The names that a property demands, and the schemas. */
  public String[] demanding = new String[0];
  public String[][] demanded = new String[0][];
  public String[] choosing = new String[0];
  public JsonTest[] chosen = NONE;

  /** What the properties and items must be that no other keyword has evaluated. */
  public JsonTest otherProperties;
  public JsonTest otherItems;
  /** Whether a keyword evaluates all properties, or all items, that others have not. */
  public boolean namesAll;
  public boolean listsAll;
  /** Whether items that fit contained are evaluated. */
  public boolean marksContained;

  public JsonTest[] all = NONE;
  public JsonTest[] any;
  public JsonTest[] one;
  public JsonTest refused;
  public boolean hasRefused;
  public JsonTest condition;
  public boolean hasCondition;
  public JsonTest consequence;
  public JsonTest alternative;

  public void declare(String[] names, JsonTest[] tests) {
    for (int i = 0; i < names.length; i++) {
      properties.put(names[i], tests[i]);
    }
  }

  public void listed(Object[] given) {
    values = new java.util.HashSet();
    for (int i = 0; i < given.length; i++) {
      values.add(key(given[i]));
    }
  }

  /** Return a number that a schema lists. */
  public static Object number(String text) {
    return new java.math.BigDecimal(text);
  }

  /** Return an array that a schema lists. */
  public static Object array(Object[] items) {
    java.util.ArrayList made = new java.util.ArrayList();
    for (int i = 0; i < items.length; i++) {
      made.add(items[i]);
    }
    return made;
  }

  /** Return an object that a schema lists. */
  public static Object object(String[] names, Object[] values) {
    java.util.HashMap made = new java.util.HashMap();
    for (int i = 0; i < names.length; i++) {
      made.put(names[i], values[i]);
    }
    return made;
  }

  /** Return an object that is equal for equal JSON values: numbers are equal by value. */
  public static Object key(Object value) {
    if (value == null) {
      return NOTHING;
    }
    if (value instanceof Number) {
      java.math.BigDecimal exact = exact(value);
      return exact.signum() == 0 ? java.math.BigDecimal.ZERO : exact.stripTrailingZeros();
    }
    if (value instanceof java.util.List) {
      java.util.ArrayList made = new java.util.ArrayList();
      java.util.Iterator each = ((java.util.List) value).iterator();
      while (each.hasNext()) {
        made.add(key(each.next()));
      }
      return made;
    }
    if (value instanceof java.util.Map) {
      java.util.HashMap made = new java.util.HashMap();
      java.util.Iterator each = ((java.util.Map) value).entrySet().iterator();
      while (each.hasNext()) {
        java.util.Map.Entry entry = (java.util.Map.Entry) each.next();
        made.put(entry.getKey(), key(entry.getValue()));
      }
      return made;
    }
    return value;
  }

  /** Return a number as the decimal that it is written as. */
  public static java.math.BigDecimal exact(Object value) {
    if (value instanceof java.math.BigDecimal) {
      return (java.math.BigDecimal) value;
    }
    if (value instanceof Double) {
      double real = ((Double) value).doubleValue();
      if (real == 0) {
        return java.math.BigDecimal.ZERO;
      }
      java.math.BigDecimal digits = Numbers.shortestDouble(Math.abs(real));
      return real < 0 ? digits.negate() : digits;
    }
    return new java.math.BigDecimal(Values.big(value));
  }
}
