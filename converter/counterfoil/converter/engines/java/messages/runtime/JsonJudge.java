package counterfoil.messages;

/**
 * Judges JSON values by all keywords of a schema, and finds the first place that is wrong.
 *
 * <p>Objects are maps, arrays are lists, texts are strings; numbers are Long, BigInteger and Double. Of several places the
 * first one in the written document is reported: a value before its parts.
 */
public final class JsonJudge {
  private static final long MOST_STEPS = 5000000L;

  private long steps;

  private JsonJudge() {
  }

  /** A place in a value: the one that contains it, how many parts are before it there, and its step. */
  private static final class Place {
    final Place above;
    final int index;
    final String step;
    final int depth;

    Place(Place above, int index, String step) {
      this.above = above;
      this.index = index;
      this.step = step;
      depth = above == null ? 0 : above.depth + 1;
    }

    private int[] order() {
      int[] made = new int[depth];
      Place each = this;
      while (each.above != null) {
        made[each.depth - 1] = each.index;
        each = each.above;
      }
      return made;
    }

    boolean isBefore(Place other) {
      int[] mine = order();
      int[] others = other.order();
      for (int i = 0; i < Math.min(mine.length, others.length); i++) {
        if (mine[i] != others[i]) {
          return mine[i] < others[i];
        }
      }
      return mine.length < others.length;
    }
  }

  /** Refuse a base value of a type that the schema does not accept. */
  public static void check(JsonTest test, JsonForm form, Object value) {
    JsonJudge judge = new JsonJudge();
    Object plain = plain(form, value);
    if (judge.holds(test, plain)) {
      return;
    }
    java.util.ArrayList found = new java.util.ArrayList();
    judge.judge(test, plain, new Place(null, 0, ""), found);
    Place first = (Place) found.get(0);
    for (int i = 1; i < found.size(); i++) {
      Place each = (Place) found.get(i);
      if (each.isBefore(first)) {
        first = each;
      }
    }
    Misfit misfit = new Misfit(Codes.UNENCODABLE, "the value is not valid under the schema");
    for (Place each = first; each.above != null; each = each.above) {
      misfit = JsonChecks.under(misfit, each.step);
    }
    throw misfit;
  }

  // -- base values as JSON values

  private static Object plain(JsonForm form, Object value) {
    if (value instanceof Texts) {
      Texts text = (Texts) value;
      return Texts.string(text.data, text.from, text.to);
    }
    if (value instanceof Object[]) {
      return object(JsonChecks.formOf(form, JsonForm.RECORD), (Object[]) value);
    }
    if (value instanceof Items) {
      JsonForm inner = JsonChecks.formOf(form, JsonForm.ARRAY).inner;
      Items items = (Items) value;
      java.util.ArrayList made = new java.util.ArrayList(items.count);
      for (int i = 0; i < items.count; i++) {
        made.add(plain(inner, items.values[i]));
      }
      return made;
    }
    if (value instanceof Entries) {
      JsonForm inner = JsonChecks.formOf(form, JsonForm.MAP).inner;
      Entries entries = (Entries) value;
      java.util.LinkedHashMap made = new java.util.LinkedHashMap();
      for (int i = 0; i < entries.count; i++) {
        Texts key = entries.keys[i];
        made.put(Texts.string(key.data, key.from, key.to), plain(inner, entries.values[i]));
      }
      return made;
    }
    return value;
  }

  private static Object object(JsonForm form, Object[] values) {
    java.util.LinkedHashMap made = new java.util.LinkedHashMap();
    for (int i = 0; i < values.length; i++) {
      if (values[i] != null || form.writesNull[i]) {
        made.put(form.keys[i], plain(form.forms[i], values[i]));
      }
    }
    return made;
  }

  // -- judgements

  private boolean holds(JsonTest test, Object value) {
    return test == null || judge(test, value, null, null);
  }

  /** Return whether a value is valid; with {@code found} add each place where it is not. */
  private boolean judge(JsonTest test, Object value, Place place, java.util.ArrayList found) {
    count();
    boolean isValid = isAccepted(test, value);
    if (!isValid) {
      if (found == null) {
        return false;
      }
      found.add(place);
    }
    if (value instanceof java.util.List) {
      isValid = items(test, (java.util.List) value, place, found) && isValid;
    } else if (value instanceof java.util.Map) {
      isValid = properties(test, (java.util.Map) value, place, found) && isValid;
    }
    for (int i = 0; i < test.all.length && (isValid || found != null); i++) {
      isValid = beside(test.all[i], value, place, found) && isValid;
    }
    if (test.hasCondition && (isValid || found != null)) {
      isValid = beside(holds(test.condition, value) ? test.consequence : test.alternative, value, place, found) && isValid;
    }
    return isValid;
  }

  private boolean beside(JsonTest test, Object value, Place place, java.util.ArrayList found) {
    return test == null || judge(test, value, place, found);
  }

  /** Return whether the keywords hold that are about the value itself, and not about a part. */
  private boolean isAccepted(JsonTest test, Object value) {
    if (test.isFalse || (test.types >= 0 && !isOfType(test, value))
        || (test.values != null && !test.values.contains(JsonTest.key(value)))) {
      return false;
    }
    if (value instanceof Number && !isNumber(test, value)) {
      return false;
    }
    if (value instanceof String && !isText(test, (String) value)) {
      return false;
    }
    if (value instanceof java.util.List && !isArray(test, (java.util.List) value)) {
      return false;
    }
    if (value instanceof java.util.Map && !isObject(test, (java.util.Map) value)) {
      return false;
    }
    return (test.any == null || count(test.any, value, 1) == 1) && (test.one == null || count(test.one, value, 2) == 1)
        && !(test.hasRefused && holds(test.refused, value)) && fitsRest(test, value);
  }

  // -- what no other keyword has evaluated

  private boolean fitsRest(JsonTest test, Object value) {
    if (test.otherProperties != null && value instanceof java.util.Map) {
      java.util.HashSet done = new java.util.HashSet();
      evaluated(test, value, true, done);
      java.util.Iterator each = ((java.util.Map) value).entrySet().iterator();
      while (each.hasNext()) {
        java.util.Map.Entry entry = (java.util.Map.Entry) each.next();
        if (!done.contains(entry.getKey()) && !holds(test.otherProperties, entry.getValue())) {
          return false;
        }
      }
    }
    if (test.otherItems != null && value instanceof java.util.List) {
      java.util.HashSet done = new java.util.HashSet();
      evaluated(test, value, true, done);
      java.util.List items = (java.util.List) value;
      for (int i = 0; i < items.size(); i++) {
        if (!done.contains(Integer.valueOf(i)) && !holds(test.otherItems, items.get(i))) {
          return false;
        }
      }
    }
    return true;
  }

  /** Add the names or numbers of the parts that a schema which accepts the value has evaluated. */
  private void evaluated(JsonTest test, Object value, boolean isOuter, java.util.HashSet done) {
    if (test == null) {
      return;
    }
    count();
    if (value instanceof java.util.Map) {
      evaluatedNames(test, (java.util.Map) value, isOuter, done);
    } else {
      evaluatedItems(test, (java.util.List) value, isOuter, done);
    }
    for (int i = 0; i < test.all.length; i++) {
      evaluated(test.all[i], value, false, done);
    }
    evaluatedBranches(test.any, value, done);
    evaluatedBranches(test.one, value, done);
    if (test.hasCondition) {
      boolean isMet = holds(test.condition, value);
      evaluated(isMet ? test.condition : null, value, false, done);
      evaluated(isMet ? test.consequence : test.alternative, value, false, done);
    }
    for (int i = 0; i < test.choosing.length; i++) {
      if (value instanceof java.util.Map && ((java.util.Map) value).containsKey(test.choosing[i])) {
        evaluated(test.chosen[i], value, false, done);
      }
    }
  }

  private void evaluatedBranches(JsonTest[] branches, Object value, java.util.HashSet done) {
    for (int i = 0; branches != null && i < branches.length; i++) {
      if (branches[i] != null && holds(branches[i], value)) {
        evaluated(branches[i], value, false, done);
      }
    }
  }

  private static void evaluatedNames(JsonTest test, java.util.Map value, boolean isOuter, java.util.HashSet done) {
    boolean hasAll = test.namesAll || (test.otherProperties != null && !isOuter);
    java.util.Iterator each = value.keySet().iterator();
    while (each.hasNext()) {
      String name = (String) each.next();
      if (hasAll || !isAdditional(test, name)) {
        done.add(name);
      }
    }
  }

  private void evaluatedItems(JsonTest test, java.util.List value, boolean isOuter, java.util.HashSet done) {
    boolean hasAll = test.listsAll || (test.otherItems != null && !isOuter);
    for (int i = 0; i < value.size(); i++) {
      if (hasAll || i < test.first.length
          || (test.hasContained && test.marksContained && holds(test.contained, value.get(i)))) {
        done.add(Integer.valueOf(i));
      }
    }
  }

  private void count() {
    if (++steps > MOST_STEPS) {
      throw new Misfit(Codes.UNENCODABLE, "the value takes too long to be tried against the schema");
    }
  }

  /** Return how many schemas accept a value; no more than so many are counted. */
  private int count(JsonTest[] tests, Object value, int most) {
    int found = 0;
    for (int i = 0; i < tests.length && found < most; i++) {
      if (holds(tests[i], value)) {
        found++;
      }
    }
    return found;
  }

  private static boolean isOfType(JsonTest test, Object value) {
    int kind = value == null ? JsonTest.NULL : value instanceof Boolean ? JsonTest.BOOLEAN
        : value instanceof String ? JsonTest.TEXT : value instanceof Number ? JsonTest.NUMBER
        : value instanceof java.util.List ? JsonTest.ARRAY : JsonTest.OBJECT;
    if ((test.types & kind) != 0) {
      return true;
    }
    if (kind != JsonTest.NUMBER || (test.types & JsonTest.INTEGER) == 0) {
      return false;
    }
    if (!(value instanceof Double)) {
      return true;
    }
    double real = ((Double) value).doubleValue();
    return test.countsFractions && real == Math.floor(real);
  }

  private static boolean isNumber(JsonTest test, Object value) {
    if ((test.low != null && test.low.isAbove(value)) || (test.high != null && test.high.isBelow(value))) {
      return false;
    }
    return test.factor == null || JsonTest.exact(value).remainder(test.factor).signum() == 0;
  }

  private static boolean isText(JsonTest test, String value) {
    if ((test.shortest >= 0 || test.longest >= 0)
        && !isWithin(value.codePointCount(0, value.length()), test.shortest, test.longest)) {
      return false;
    }
    return test.pattern == null || matches(test.pattern, value);
  }

  private static boolean matches(TextPattern pattern, String text) {
    return pattern.isIn(Values.text(Texts.bytes(text)));
  }

  private static boolean isWithin(long size, long least, long most) {
    return size >= least && (most < 0 || size <= most);
  }

  private boolean isArray(JsonTest test, java.util.List value) {
    if (!isWithin(value.size(), test.fewestItems, test.mostItems)) {
      return false;
    }
    if (test.isRestOfArray && value.size() > test.first.length && test.items != null && test.items.isFalse) {
      return false;
    }
    if (test.isUnique) {
      java.util.HashSet seen = new java.util.HashSet();
      for (int i = 0; i < value.size(); i++) {
        if (!seen.add(JsonTest.key(value.get(i)))) {
          return false;
        }
      }
    }
    if (!test.hasContained) {
      return true;
    }
    long found = 0;
    for (int i = 0; i < value.size(); i++) {
      if (holds(test.contained, value.get(i))) {
        found++;
      }
    }
    return isWithin(found, test.fewestContained, test.mostContained);
  }

  private boolean isObject(JsonTest test, java.util.Map value) {
    if (!isWithin(value.size(), test.fewestProperties, test.mostProperties) || !hasAll(value, test.required)) {
      return false;
    }
    for (int i = 0; i < test.demanding.length; i++) {
      if (value.containsKey(test.demanding[i]) && !hasAll(value, test.demanded[i])) {
        return false;
      }
    }
    boolean isClosed = test.additional != null && test.additional.isFalse;
    java.util.Iterator each = value.keySet().iterator();
    while ((test.names != null || isClosed) && each.hasNext()) {
      String name = (String) each.next();
      if (!holds(test.names, name) || (isClosed && isAdditional(test, name))) {
        return false;
      }
    }
    return true;
  }

  private static boolean hasAll(java.util.Map value, String[] names) {
    for (int i = 0; i < names.length; i++) {
      if (!value.containsKey(names[i])) {
        return false;
      }
    }
    return true;
  }

  private static boolean isAdditional(JsonTest test, String name) {
    if (test.properties.containsKey(name)) {
      return false;
    }
    for (int i = 0; i < test.patterns.length; i++) {
      if (matches(test.patterns[i], name)) {
        return false;
      }
    }
    return true;
  }

  // -- parts

  private boolean items(JsonTest test, java.util.List value, Place place, java.util.ArrayList found) {
    boolean isValid = true;
    for (int i = 0; i < value.size() && (isValid || found != null); i++) {
      boolean isListed = i < test.first.length;
      JsonTest item = isListed ? test.first[i] : test.items;
      if (item != null && (isListed || !test.isRestOfArray || !item.isFalse)) {
        Place inside = found == null ? null : new Place(place, i, "[" + i + "]");
        isValid = judge(item, value.get(i), inside, found) && isValid;
      }
    }
    return isValid;
  }

  private boolean properties(JsonTest test, java.util.Map value, Place place, java.util.ArrayList found) {
    boolean isValid = true;
    int index = 0;
    java.util.Iterator each = value.entrySet().iterator();
    while (each.hasNext() && (isValid || found != null)) {
      java.util.Map.Entry entry = (java.util.Map.Entry) each.next();
      String name = (String) entry.getKey();
      Place inside = found == null ? null : new Place(place, index, JsonChecks.stepOf(name));
      isValid = property(test, name, entry.getValue(), inside, found) && isValid;
      index++;
    }
    for (int i = 0; i < test.choosing.length && (isValid || found != null); i++) {
      if (value.containsKey(test.choosing[i])) {
        isValid = beside(test.chosen[i], value, place, found) && isValid;
      }
    }
    return isValid;
  }

  private boolean property(JsonTest test, String name, Object value, Place place, java.util.ArrayList found) {
    boolean isValid = beside((JsonTest) test.properties.get(name), value, place, found);
    boolean isOther = !test.properties.containsKey(name);
    for (int i = 0; i < test.patterns.length && (isValid || found != null); i++) {
      if (matches(test.patterns[i], name)) {
        isOther = false;
        isValid = beside(test.ofPatterns[i], value, place, found) && isValid;
      }
    }
    if (isOther && test.additional != null && !test.additional.isFalse && (isValid || found != null)) {
      isValid = judge(test.additional, value, place, found) && isValid;
    }
    return isValid;
  }
}
