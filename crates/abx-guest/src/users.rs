//! Users and groups, read from /etc/passwd and /etc/group: a static program has no name service.

use std::collections::HashMap;
use std::path::PathBuf;

/// Who a process runs as, who a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Every group, the primary one included.
    pub(crate) groups: Vec<u32>,
    pub(crate) home: PathBuf,
    pub(crate) shell: String,
}

/// There is no such user (or group, where one was given).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnknownUser(pub(crate) String);

impl std::fmt::Display for UnknownUser {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "invalid username: '{}'", self.0)
    }
}

/// The two files' text.
pub(crate) struct Accounts {
    passwd: String,
    group: String,
}

impl Accounts {
    /// Reads both; an absent file is an empty one.
    pub(crate) fn read() -> Self {
        let read = |path| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        Self { passwd: read("/etc/passwd"), group: read("/etc/group") }
    }

    /// Finds `name`, `uid`, `name:group` or `uid:gid`. A uid needs no entry, as in an image's `USER`, and root
    /// needs none either: an image may have no /etc/passwd at all.
    pub(crate) fn find(&self, wanted: &str) -> Result<User, UnknownUser> {
        let unknown = || UnknownUser(wanted.to_owned());
        let (name, group) = match wanted.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (wanted, None),
        };
        let mut user = self.entry(name).or_else(|| nameless(name)).ok_or_else(unknown)?;
        if let Some(group) = group.filter(|group| !group.is_empty()) {
            user.gid = self.group_id(group).ok_or_else(unknown)?;
        }
        user.groups = self.groups_of(&user.name, user.gid);
        Ok(user)
    }

    fn entry(&self, wanted: &str) -> Option<User> {
        let by_uid = wanted.parse::<u32>().ok();
        let entries = || self.passwd.lines().filter_map(passwd_entry);
        entries()
            .find(|user| user.name == wanted)
            .or_else(|| by_uid.and_then(|uid| entries().find(|user| user.uid == uid)))
    }

    fn group_id(&self, wanted: &str) -> Option<u32> {
        let by_name = self.group.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == wanted).then(|| fields.nth(1)?.parse().ok())?
        });
        by_name.or_else(|| wanted.parse().ok())
    }

    fn groups_of(&self, name: &str, gid: u32) -> Vec<u32> {
        let mut groups = vec![gid];
        for line in self.group.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [_, _, id, members, ..] = fields[..] else { continue };
            let Ok(id) = id.parse() else { continue };
            if members.split(',').any(|member| member == name) && !groups.contains(&id) {
                groups.push(id);
            }
        }
        groups
    }

    /// Names by number, for showing who owns files.
    pub(crate) fn names(&self) -> Names {
        let table = |text: &str| {
            text.lines()
                .filter_map(|line| {
                    let mut fields = line.split(':');
                    let name = fields.next()?.to_owned();
                    Some((fields.nth(1)?.parse().ok()?, name))
                })
                .rev()
                .collect()
        };
        Names { users: table(&self.passwd), groups: table(&self.group) }
    }
}

fn passwd_entry(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, ref rest @ ..] = fields[..] else { return None };
    let shell = rest.first().copied().filter(|shell| !shell.is_empty()).unwrap_or("/bin/sh");
    Some(User {
        name: name.to_owned(),
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
        groups: Vec::new(),
        home: if home.is_empty() { "/".into() } else { home.into() },
        shell: shell.to_owned(),
    })
}

fn nameless(wanted: &str) -> Option<User> {
    let uid = if wanted == "root" { 0 } else { wanted.parse().ok()? };
    let home = if uid == 0 { "/root" } else { "/" };
    Some(User {
        name: if uid == 0 { "root".to_owned() } else { uid.to_string() },
        uid,
        // As container runtimes do: a number without an entry is in root's group.
        gid: 0,
        groups: Vec::new(),
        home: home.into(),
        shell: "/bin/sh".to_owned(),
    })
}

/// Names by number.
pub(crate) struct Names {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Names {
    /// The user's name, or its number.
    pub(crate) fn user(&self, uid: u32) -> String {
        self.users.get(&uid).cloned().unwrap_or_else(|| uid.to_string())
    }

    /// The group's name, or its number.
    pub(crate) fn group(&self, gid: u32) -> String {
        self.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accounts() -> Accounts {
        Accounts {
            passwd: "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n\
                     bad line\nodd:x:1001:1001::\nbare:x:1002:100:::\n"
                .to_owned(),
            group: "root:x:0:\nsudo:x:27:user,odd\nuser:x:1000:\ndocker:x:99:user\nbroken\n".to_owned(),
        }
    }

    #[test]
    fn users_are_found_by_every_spelling() {
        let rows = [
            ("root", "0 0 [0] /root"),
            ("user", "1000 1000 [1000, 27, 99] /home/user"),
            ("1000", "1000 1000 [1000, 27, 99] /home/user"),
            ("user:sudo", "1000 27 [27, 99] /home/user"),
            ("4242:7", "4242 7 [7] /"),
            ("4242", "4242 0 [0] /"),
            ("bare", "1002 100 [100] /"),
            ("nobody-here", "invalid username: 'nobody-here'"),
            ("user:nogroup", "invalid username: 'user:nogroup'"),
        ];
        for (wanted, expect) in rows {
            let seen = match accounts().find(wanted) {
                Ok(User { uid, gid, groups, home, .. }) => {
                    format!("{uid} {gid} {groups:?} {}", home.display())
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(seen, expect, "{wanted}");
        }
    }

    #[test]
    fn root_needs_no_entry() {
        let empty = Accounts { passwd: String::new(), group: String::new() };
        assert_eq!(empty.find("root").expect("root").uid, 0);
    }

    #[test]
    fn numbers_without_a_name_stay_numbers() {
        let names = accounts().names();
        assert_eq!((names.user(1000), names.group(27)), ("user".to_owned(), "sudo".to_owned()));
        assert_eq!((names.user(77), names.group(78)), ("77".to_owned(), "78".to_owned()));
    }
}
