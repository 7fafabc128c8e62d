//! A number for each sandbox that runs, from which its ids and addresses follow.

use std::fs::File;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{IsolateError, SystemError};
use crate::launch::Ids;
use crate::network::{Addresses, SLOTS};
use crate::userns::ID_COUNT;

/// All slots of this host.
///
/// Taking one locks a byte of a shared file, at the slot's number. The kernel lets go of the lock when its holder
/// ends, however it ends, so a crash leaves nothing taken.
#[derive(Debug)]
pub struct Slots {
    file: File,
    /// Whether a slot that nobody holds is in use all the same.
    is_haunted: fn(u16) -> bool,
}

/// A slot, held until dropped.
#[derive(Debug)]
pub struct Slot {
    number: u16,
    _lock: File,
}

/// An address for documents, that no host has (RFC 5737).
const NOBODYS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// The first host id handed out; what is below belongs to the host's own users.
const FIRST_ID: u32 = 0x0010_0000;

impl Slot {
    /// Unique among the sandboxes that run.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The host ids of this slot. Different slots share none.
    pub fn ids(&self) -> Ids {
        Ids::Range { base: FIRST_ID + u32::from(self.number) * ID_COUNT }
    }
}

impl Slots {
    /// The slots of this host: ids and addresses are one space, wherever the callers keep their state.
    pub fn of_host() -> Result<Self, IsolateError> {
        Ok(Self { is_haunted: has_address, ..Self::open(Path::new("/run/abx/slots"))? })
    }

    /// The slots locked through the file at `path`, which is made where absent, with its parents.
    pub fn open(path: &Path) -> Result<Self, IsolateError> {
        let failed =
            |error: std::io::Error| IsolateError::File { path: path.to_owned(), source: error.into() };
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        let file =
            File::options().create(true).truncate(false).read(true).write(true).open(path).map_err(failed)?;
        Ok(Self { file, is_haunted: |_| false })
    }

    /// Takes the lowest free slot.
    pub fn take(self) -> Result<Slot, IsolateError> {
        let mut number = 0;
        while number < SLOTS {
            if self.lock(number)? {
                if !(self.is_haunted)(number) {
                    return Ok(Slot { number, _lock: self.file });
                }
                // Left locked, as long as ours is: the next one need not look.
                number += 1;
                continue;
            }
            number = self.end_of_taken(number)?;
        }
        Err(IsolateError::NoSlot { capacity: SLOTS })
    }

    /// Takes this slot again, for a disk whose files carry its ids; `None` where another holds it.
    pub fn take_again(self, number: u16) -> Result<Option<Slot>, IsolateError> {
        if number >= SLOTS || !self.lock(number)? {
            return Ok(None);
        }
        Ok(Some(Slot { number, _lock: self.file }))
    }

    fn lock(&self, number: u16) -> Result<bool, IsolateError> {
        match self.control(libc::F_OFD_SETLK, number, 1) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::ACCESS) => Ok(false),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// The first number behind the run of taken slots that `number` is in.
    fn end_of_taken(&self, number: u16) -> Result<u16, IsolateError> {
        let found = self.control(libc::F_OFD_GETLK, number, 1).map_err(failed)?;
        let free = i32::from(found.l_type) == libc::F_UNLCK;
        Ok(if free { number } else { (found.l_start + found.l_len.max(1)).clamp(0, i64::from(SLOTS)) as u16 })
    }

    fn control(&self, command: i32, number: u16, length: i64) -> rustix::io::Result<libc::flock> {
        // SAFETY: all zero is a valid value for every field.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as i16;
        lock.l_whence = libc::SEEK_SET as i16;
        lock.l_start = i64::from(number);
        lock.l_len = length;
        // SAFETY: the kernel reads and writes the structure during the call.
        crate::sys::check(unsafe { libc::fcntl(self.file.as_raw_fd(), command, &raw mut lock) }.into())?;
        Ok(lock)
    }
}

/// Whether the host still has the address of its end. A sandbox that was frozen when its owner was killed stays until
/// it is cleaned up, and two with the same addresses would reach nothing.
fn has_address(number: u16) -> bool {
    let can_bind = |address: Ipv4Addr| UdpSocket::bind((address, 0)).is_ok();
    // Some hosts bind whatever they are asked to: with `ip_nonlocal_bind`, or before the loopback is up.
    can_bind(Addresses::of_slot(number).host) && !can_bind(NOBODYS)
}

fn failed(errno: Errno) -> IsolateError {
    IsolateError::System { action: "take a sandbox slot".into(), source: SystemError::from(errno) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_held_until_dropped() {
        let home = tempfile::tempdir().expect("tempdir");
        let path = home.path().join("run/slots");
        let take = || Slots::open(&path).and_then(Slots::take).expect("slot");
        let (first, second, third) = (take(), take(), take());
        assert_eq!([first.number(), second.number(), third.number()], [0, 1, 2]);
        drop(second);
        assert_eq!(take().number(), 1, "dropped at once, so free for the next");
        let again = |number| Slots::open(&path).and_then(|slots| slots.take_again(number)).expect("lock");
        assert!(again(2).is_none());
        assert_eq!(again(7).map(|slot| slot.number()), Some(7));
        assert_eq!(third.ids(), Ids::Range { base: 0x0012_0000 });
    }

    #[test]
    fn a_slot_in_use_that_nobody_holds_is_passed_over() {
        let home = tempfile::tempdir().expect("tempdir");
        let path = home.path().join("slots");
        let take = || {
            let slots = Slots::open(&path).expect("open");
            Slots { is_haunted: |number| number < 2, ..slots }.take().expect("slot").number()
        };
        assert_eq!((take(), take()), (2, 2));
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "the test harness shows it")]
    fn a_host_that_binds_any_address_has_slots_all_the_same() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: a network of its own needs root");
        }
        let number = std::thread::spawn(|| {
            // SAFETY: only this thread's network namespace changes, and the thread has nothing open.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.expect("unshare");
            // Its loopback is down, and every address can be bound.
            assert!(UdpSocket::bind((NOBODYS, 0)).is_ok());
            Slots::of_host().and_then(Slots::take).map(|slot| slot.number())
        });
        assert!(number.join().expect("the thread ends").is_ok());
    }

    #[test]
    fn ids_end_below_the_sign_bit() {
        assert!(u64::from(FIRST_ID) + u64::from(SLOTS) * u64::from(ID_COUNT) <= 1 << 31);
    }
}
