echo 1 > f1; chmod 4755 f1
echo 2 > f2; chmod 2644 f2
echo 3 > f3; chmod 000 f3
echo 4 > f4; chmod 777 f4
mkdir d1; chmod 1777 d1
mkdir d2; chmod 2750 d2
mkdir d3; chmod 500 d3
chown 12:13 f3 d3
