python3 - <<E
import tarfile, io
with tarfile.open('a.tar', 'w', format=tarfile.PAX_FORMAT) as tar:
    info = tarfile.TarInfo('f')
    info.size, info.mode, info.mtime = 2, 0o755, 1000000
    info.pax_headers = {'SCHILY.xattr.user.note': 'hello', 'SCHILY.xattr.security.capability': '\\x01\\x00\\x00\\x02\\x00\\x04' + '\\x00' * 14}
    tar.addfile(info, io.BytesIO(b'x\\n'))
E
