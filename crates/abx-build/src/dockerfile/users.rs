//! Users of an image by name or number, as BuildKit reads them.

use std::io;

use super::refusal::Refusal;
use crate::canvas::Owner;
use crate::view::View;

const PASSWD: &str = "/etc/passwd";
const GROUP: &str = "/etc/group";
/// The highest id that a sandbox and a build step know.
const HIGHEST: u32 = 65_535;

/// As whom a process runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) owner: Owner,
    /// Supplementary groups.
    pub(super) groups: Vec<u32>,
    pub(super) home: String,
}

/// A line of `/etc/passwd`.
struct User<'t> {
    name: &'t str,
    owner: Owner,
    home: &'t str,
}

/// A line of `/etc/group`.
struct Group<'t> {
    name: &'t str,
    gid: u32,
    members: Vec<&'t str>,
}

/// Who `USER` means: `name`, `1000`, either with `:group`. Groups that list the user are joined unless one is named.
/// Empty is root.
pub(super) fn identity(view: &View, user: &str) -> Result<Identity, Refusal> {
    let (passwd, group) = (read(view, PASSWD)?, read(view, GROUP)?);
    let (name, group_name) = match user.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (user, None),
    };
    let name = if name.is_empty() { "0" } else { name };
    let number = name.parse().ok();
    let known = users(&passwd).find(|user| user.name == name || Some(user.owner.uid) == number);
    let mut identity = match (&known, number) {
        (Some(user), _) => Identity { owner: user.owner, groups: Vec::new(), home: user.home.to_owned() },
        (None, Some(uid)) => {
            let home = if uid == 0 { "/root" } else { "/" };
            Identity { owner: Owner { uid, gid: 0 }, groups: Vec::new(), home: home.to_owned() }
        }
        (None, None) if name == "root" => {
            Identity { owner: Owner::ROOT, groups: Vec::new(), home: "/root".to_owned() }
        }
        (None, None) => return Err(Refusal::NoUser { name: name.to_owned() }),
    };
    match (group_name, known) {
        (Some(name), _) => identity.owner.gid = gid(&group, name)?,
        (None, Some(user)) => {
            let joined = groups(&group).filter(|group| group.members.contains(&user.name));
            identity.groups = joined.map(|group| group.gid).collect();
        }
        (None, None) => {}
    }
    check(identity.owner)?;
    Ok(identity)
}

/// Whom `--chown` means. A number without a group is its own group, a name brings its group along, and a group alone
/// leaves root the user.
pub(super) fn owner(view: &View, chown: &str) -> Result<Owner, Refusal> {
    let (name, group) = match chown.split_once(':') {
        Some((name, group)) => (name, Some(group)),
        None => (chown, None),
    };
    let mut owner = match name.parse() {
        Ok(uid) => Owner { uid, gid: uid },
        Err(_) if name.is_empty() => Owner::ROOT,
        Err(_) => {
            let passwd = read(view, PASSWD)?;
            let known = users(&passwd).find(|user| user.name == name).map(|user| user.owner);
            let known = known.or((name == "root").then_some(Owner::ROOT));
            known.ok_or_else(|| Refusal::NoUser { name: name.to_owned() })?
        }
    };
    if let Some(name) = group {
        owner.gid = gid(&read(view, GROUP)?, name)?;
    }
    check(owner)?;
    Ok(owner)
}

fn gid(text: &str, name: &str) -> Result<u32, Refusal> {
    if let Ok(gid) = name.parse() {
        return Ok(gid);
    }
    let known = groups(text).find(|group| group.name == name).map(|group| group.gid);
    known.or((name == "root").then_some(0)).ok_or_else(|| Refusal::NoGroup { name: name.to_owned() })
}

fn check(owner: Owner) -> Result<(), Refusal> {
    let id = owner.uid.max(owner.gid);
    if id > HIGHEST { Err(Refusal::IdTooLarge { id }) } else { Ok(()) }
}

fn users(text: &str) -> impl Iterator<Item = User<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, uid, gid) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let home = fields.nth(1).filter(|home| !home.is_empty()).unwrap_or("/");
        Some(User { name, owner: Owner { uid: uid.parse().ok()?, gid: gid.parse().ok()? }, home })
    })
}

fn groups(text: &str) -> impl Iterator<Item = Group<'_>> {
    text.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _, gid) = (fields.next()?, fields.next()?, fields.next()?.parse().ok()?);
        let members = fields.next().unwrap_or_default().split(',').map(str::trim).collect();
        Some(Group { name, gid, members })
    })
}

fn read(view: &View, path: &str) -> Result<String, Refusal> {
    let failed = |source: io::Error| Refusal::File { verb: "read", path: path.to_owned(), source };
    Ok(view.read(path).map_err(failed)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_by_name_and_number() {
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::create_dir(dir.path().join("etc")).expect("mkdir");
        let write = |path: &str, text: &str| std::fs::write(dir.path().join(path), text).expect("write");
        write("etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1001::/home/ann:/bin/sh\n");
        write("etc/group", "root:x:0:\nann:x:1001:\nwheel:x:10:root,ann\nbig:x:70000:\n");
        let view = View::new(vec![dir.path().to_owned()]);
        let id = |user: &str| {
            let found = identity(&view, user).map_err(|refusal| refusal.to_string())?;
            Ok::<_, String>((found.owner.uid, found.owner.gid, found.groups, found.home))
        };
        let row = |uid, gid, groups: &[u32], home: &str| Ok((uid, gid, groups.to_vec(), home.to_owned()));
        assert_eq!(id("ann"), row(1000, 1001, &[10], "/home/ann"));
        assert_eq!(id("1000"), row(1000, 1001, &[10], "/home/ann"));
        assert_eq!(id("ann:wheel"), row(1000, 10, &[], "/home/ann"));
        assert_eq!(id("77"), row(77, 0, &[], "/"));
        assert_eq!(id("77:88"), row(77, 88, &[], "/"));
        assert_eq!(id(""), row(0, 0, &[10], "/root"));
        assert_eq!(id("bob"), Err("the image has no user `bob`".to_owned()));
        assert_eq!(id("ann:none"), Err("the image has no group `none`".to_owned()));
        assert_eq!(id("70000"), Err("the id 70000 is beyond 65535".to_owned()));
        let to = |chown: &str| owner(&view, chown).map(|owner| (owner.uid, owner.gid)).ok();
        let rows = [
            ("ann", Some((1000, 1001))),
            ("55", Some((55, 55))),
            ("55:wheel", Some((55, 10))),
            ("ann:7", Some((1000, 7))),
            ("root:root", Some((0, 0))),
            ("bob", None),
            ("ann:big", None),
        ];
        for (chown, expected) in rows {
            assert_eq!(to(chown), expected, "{chown}");
        }
    }
}
