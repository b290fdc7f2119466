package counterfoil.messages;

/** The symbols of an enum: the first one of each number, and the number of each. */
public final class Symbols {
  public final boolean isClosed;
  private final int[] numbers;
  private final Texts[] first;
  private final Table table;
  private final int[] numberByPlace;

  /** {@code numbers} are sorted, and {@code first} has the symbol of each; {@code all} are those of {@code byPlace}. */
  public Symbols(boolean isClosed, int[] numbers, byte[][] first, byte[][] all, int[] byPlace) {
    this.isClosed = isClosed;
    this.numbers = numbers;
    this.first = new Texts[first.length];
    for (int i = 0; i < first.length; i++) {
      this.first[i] = Values.text(first[i]);
    }
    this.table = new Table(all);
    this.numberByPlace = byPlace;
  }

  /** Return the symbol of a number, null if there is none. */
  public Texts of(int number) {
    int place = number >= 0 && number < numbers.length && numbers[number] == number ? number
        : java.util.Arrays.binarySearch(numbers, number);
    return place < 0 ? null : first[place];
  }

  public boolean has(int number) {
    return of(number) != null;
  }

  public int numberOf(Texts symbol) {
    return numberByPlace[table.placeOf(symbol.data, symbol.from, symbol.to)];
  }
}
