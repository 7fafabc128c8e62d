echo 1 > "x[y].txt"
echo 2 > "x*y"
echo 3 > xzy
