echo 1 > "a b"
echo 2 > "c d"
