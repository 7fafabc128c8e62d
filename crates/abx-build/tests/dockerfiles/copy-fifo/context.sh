mkfifo p
echo x > x
