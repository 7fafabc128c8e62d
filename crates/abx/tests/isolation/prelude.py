import ctypes, errno, os, signal, socket, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    """Makes the system call; raises what the kernel answers."""
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def attempt(name, work):
    """Prints how it went."""
    try:
        work()
    except OSError as error:
        print(f"{name}: {errno.errorcode.get(error.errno, error)}", flush=True)
    else:
        print(f"{name}: came through", flush=True)


def in_child(work):
    """Does it in a process of its own, so that what comes through ends with that; raises what it raises."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            work()
        except OSError as error:
            code = error.errno
        os.write(writer, bytes([code]))
        os._exit(0)
    os.close(writer)
    code = os.read(reader, 1)
    os.close(reader)
    os.waitpid(child, 0)
    if not code:
        raise OSError(errno.EINTR, "killed")
    if code[0]:
        raise OSError(code[0], os.strerror(code[0]))


def opened(path, flags=os.O_WRONLY):
    """Opens and closes, and writes nothing. A file that is hidden is the null device."""
    opened = os.open(path, flags)
    is_null = os.fstat(opened).st_rdev == os.makedev(1, 3) and path != "/dev/null"
    os.close(opened)
    if is_null:
        raise OSError(errno.ENOENT, "hidden")
