mkdir -p e/f
