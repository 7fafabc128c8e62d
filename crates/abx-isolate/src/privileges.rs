//! What the process inside may do: capabilities, ids, seccomp, all given up just before it starts.

use rustix::fs::{Gid, Uid};
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, CapabilitySets, LinkNameSpaceType, move_into_link_name_space,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use std::os::fd::BorrowedFd;

use crate::error::{Feature, IsolateError, system};
use crate::launch::Process;
use crate::{seccomp, sys};

/// The bounding set: what package managers, sudo and ordinary daemons need. All of it ends at the
/// sandbox's user namespace, which owns no other namespace: `NET_RAW`, for one, opens no raw socket.
const BOUNDING: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::AUDIT_WRITE);

/// Turns the calling process from the host's root into the process described, inside `userns`.
///
/// The order is the point: seccomp is installed while CAP_SYS_ADMIN (in the new namespace) is still there,
/// so that `no_new_privs` is not needed; the death signal comes last, as every change of credentials clears it.
pub(crate) fn give_up(process: &Process, userns: BorrowedFd<'_>) -> Result<(), IsolateError> {
    move_into_link_name_space(userns, Some(LinkNameSpaceType::User))
        .map_err(system("join the user namespace"))?;
    bound_capabilities()?;
    if process.no_new_privs {
        set_no_new_privs(true).map_err(system("set no_new_privs"))?;
    }
    sys::install_filter(&seccomp::filter())
        .map_err(|errno| IsolateError::Lacks { feature: Feature::Seccomp, source: errno.into() })?;
    become_user(process)?;
    // Until exec this is a copy of the owner, environment and all, with the ids of what runs inside.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(system("hide the owner's memory"))?;
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(system("tie the sandbox's life to its owner's"))
}

fn bound_capabilities() -> Result<(), IsolateError> {
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if BOUNDING.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            // The first number this kernel does not know.
            Err(rustix::io::Errno::INVAL) => break,
            result => result.map_err(system("bound the capabilities"))?,
        }
    }
    Ok(())
}

fn become_user(process: &Process) -> Result<(), IsolateError> {
    let groups: Vec<Gid> = process.groups.iter().map(|group| Gid::from_raw(*group)).collect();
    let (uid, gid) = (Uid::from_raw(process.uid), Gid::from_raw(process.gid));
    set_thread_groups(&groups).map_err(system("set the groups"))?;
    set_thread_res_gid(gid, gid, gid).map_err(system("set the group"))?;
    set_thread_res_uid(uid, uid, uid).map_err(system("set the user"))?;
    let held = if process.uid == 0 { BOUNDING } else { CapabilitySet::empty() };
    let sets = CapabilitySets { effective: held, permitted: held, inheritable: CapabilitySet::empty() };
    set_capabilities(None, sets).map_err(system("set the capabilities"))
}
