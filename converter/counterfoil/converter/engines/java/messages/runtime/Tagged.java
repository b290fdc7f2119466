package counterfoil.messages;

/** The value of a tagged union: the index of its branch, and the value. */
public final class Tagged {
  public final int index;
  public final Object value;

  public Tagged(int index, Object value) {
    this.index = index;
    this.value = value;
  }
}
