print("no bench yet")
