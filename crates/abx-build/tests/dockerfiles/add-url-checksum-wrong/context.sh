printf wrong > $SERVED/file.txt
