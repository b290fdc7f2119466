"""The policy SOUND: whether one schema accepts every value of another is proved, refuted by a value, or not decided."""
