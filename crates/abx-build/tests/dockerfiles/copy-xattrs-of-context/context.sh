echo x > a
mkdir d
python3 -c "import os; os.setxattr('a', b'user.note', b'hello'); os.setxattr('d', b'user.dir', b'1')"
