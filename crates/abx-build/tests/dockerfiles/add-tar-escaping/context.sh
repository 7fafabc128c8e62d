python3 - <<E
import tarfile, io
with tarfile.open('a.tar', 'w') as tar:
    info = tarfile.TarInfo('../../escaped')
    info.size = 2
    tar.addfile(info, io.BytesIO(b'x\\n'))
E
