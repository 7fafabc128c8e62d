echo a > a.txt
echo b > b.txt
echo c > c.md
mkdir -p d/sub/deep
echo x > d/x.txt
echo y > d/sub/y.md
echo z > d/sub/deep/z.txt

mkdir -p e/f/g node_modules/x e/node_modules
touch e/f/g/a.log e/b.log c.log e/keep.log node_modules/x/y e/node_modules/z .hidden a1 a2 b1
cat > .dockerignore <<E
**/*.log
!**/keep.log
**/node_modules
.*
[a]?
/b1
./c.md
d/sub/
E
