mkdir -p t/etc t/n
echo new > t/etc/new
chmod 700 t/etc
echo n > t/n/n
