echo no archive > a.tar.gz
echo text > text
gzip -n text
