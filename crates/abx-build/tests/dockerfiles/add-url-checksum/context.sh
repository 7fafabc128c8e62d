printf hello > $SERVED/file.txt
