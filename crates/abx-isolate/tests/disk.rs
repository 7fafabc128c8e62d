//! A writable layer is used again: by other ids, and from the host.

mod common;

use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use abx_isolate::{Disk, Ids, Launch, StepEnd, Upper, disk_in_use, open_disk};
use common::{Place, can_launch, run};

const FIRST: u32 = 0x3000_0000;
const SECOND: u32 = 0x3001_0000;

fn launch(place: &Place, name: &str, script: &str, base: u32, disk: Disk) -> Launch {
    let mut launch = place.launch(name, script);
    launch.ids = Ids::Range { base };
    launch.root.upper = Upper::Disk(disk);
    launch
}

#[test]
fn a_disk_serves_another_range_of_ids() {
    if !can_launch() {
        return;
    }
    let place = Place::new();
    let image = place.disk(16);
    let writes = "echo one > /kept && chown 1000:1000 /kept && mkdir /d && echo x > /d/gone && rm -r /etc && mkdir /etc";
    let (end, said) = run(&launch(&place, "first", writes, FIRST, Disk::new(&image)));
    assert_eq!(end, StepEnd::Exited(0), "{said}");
    assert!(!disk_in_use(&image).expect("asked"));

    let reads = "stat -c '%u %g %n' /kept /d && cat /kept && ls -A /etc && rm /d/gone && \
                 echo two >> /kept && echo new > /new && mv /kept /moved && rm -r /bin/no-such 2>/dev/null; \
                 stat -c '%u' /moved /new";
    let disk = Disk { ids: Some(Ids::Range { base: FIRST }), durable: true, ..Disk::new(&image) };
    let (end, said) = run(&launch(&place, "second", reads, SECOND, disk));
    assert_eq!(end, StepEnd::Exited(0), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, ["1000 1000 /kept", "0 0 /d", "one", "1000", "0"], "{said}");

    // On the disk they have the first ids still.
    let upper = open_disk(&image).expect("mounted");
    assert!(disk_in_use(&image).expect("asked"));
    let path = |name: &str| format!("/proc/self/fd/{}/{name}", upper.as_raw_fd());
    let owner = |name: &str| std::fs::metadata(path(name)).expect("there").uid();
    assert_eq!((owner("moved"), owner("new")), (FIRST + 1000, FIRST));
    assert_eq!(std::fs::read_to_string(path("moved")).expect("read"), "one\ntwo\n");
    // Twice at once is one file system.
    let again = open_disk(&image).expect("mounted twice");
    std::fs::write(path("from-here"), "x").expect("write");
    let seen = format!("/proc/self/fd/{}/from-here", again.as_raw_fd());
    assert_eq!(std::fs::read_to_string(seen).expect("the same"), "x");
    drop((upper, again));
}
