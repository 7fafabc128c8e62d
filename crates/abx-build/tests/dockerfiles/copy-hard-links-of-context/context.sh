echo x > a
ln a b
mkdir d
ln a d/c
