echo a > a.txt
echo b > b.txt
echo c > c.md
mkdir -p d/sub/deep
echo x > d/x.txt
echo y > d/sub/y.md
echo z > d/sub/deep/z.txt
