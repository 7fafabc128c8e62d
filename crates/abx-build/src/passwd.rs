//! The user database as text: who is there, and one more user.

/// A line of `/etc/passwd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) home: String,
}

/// The texts of `/etc/passwd`, `/etc/group`, and of the shadow files where the image has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Database {
    pub(crate) passwd: String,
    pub(crate) group: String,
    pub(crate) shadow: Option<String>,
    pub(crate) gshadow: Option<String>,
}

/// First id of people, by Debian's rules.
const FIRST_UID: u32 = 1000;

impl Database {
    /// The user of that name.
    pub(crate) fn find(&self, name: &str) -> Option<User> {
        self.passwd.lines().filter_map(parse).find(|user| user.name == name)
    }

    /// Adds a user of a group of its own, both with id 1000 or the next one that neither a user nor a group
    /// has. Its password is locked.
    pub(crate) fn add(&mut self, name: &str, home: &str, shell: &str) -> User {
        let id = self.free_id();
        let gid = self.gid(name).unwrap_or(id);
        if self.gid(name).is_none() {
            append(&mut self.group, &format!("{name}:x:{gid}:"));
            if let Some(gshadow) = &mut self.gshadow {
                append(gshadow, &format!("{name}:!::"));
            }
        }
        append(&mut self.passwd, &format!("{name}:x:{id}:{gid}::{home}:{shell}"));
        if let Some(shadow) = &mut self.shadow {
            // No day of the last change: a date would make every build another one, and switches ageing on.
            append(shadow, &format!("{name}:!::0:99999:7:::"));
        }
        User { name: name.to_owned(), uid: id, gid, home: home.to_owned() }
    }

    fn free_id(&self) -> u32 {
        let ids = |text: &str| -> Vec<u32> {
            text.lines().filter_map(|line| line.split(':').nth(2)?.parse().ok()).collect()
        };
        let (users, groups) = (ids(&self.passwd), ids(&self.group));
        (FIRST_UID..).find(|id| !users.contains(id) && !groups.contains(id)).unwrap_or(FIRST_UID)
    }

    fn gid(&self, group: &str) -> Option<u32> {
        self.group.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == group).then(|| fields.nth(1)?.parse().ok())?
        })
    }
}

fn parse(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    let [name, _, uid, gid, _, home, ..] = fields[..] else { return None };
    Some(User { name: name.into(), uid: uid.parse().ok()?, gid: gid.parse().ok()?, home: home.into() })
}

fn append(text: &mut String, line: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
}

/// Whether `name` can stand in the user database.
pub(crate) fn is_user_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_lowercase() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte))
        && name.len() <= 32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(passwd: &str, group: &str) -> Database {
        Database {
            passwd: passwd.into(),
            group: group.into(),
            shadow: Some("root:*:1::::::\n".into()),
            gshadow: Some(String::new()),
        }
    }

    #[test]
    fn a_user_takes_1000_and_is_in_all_four_files() {
        let mut database = database("root:x:0:0:root:/root:/bin/bash\n", "root:x:0:\n");
        let user = database.add("user", "/home/user", "/bin/bash");
        assert_eq!((user.uid, user.gid), (1000, 1000));
        assert_eq!(database.find("user"), Some(user));
        assert!(database.passwd.ends_with("user:x:1000:1000::/home/user:/bin/bash\n"));
        assert_eq!(database.group, "root:x:0:\nuser:x:1000:\n");
        assert_eq!(database.shadow.as_deref(), Some("root:*:1::::::\nuser:!::0:99999:7:::\n"));
        assert_eq!(database.gshadow.as_deref(), Some("user:!::\n"));
    }

    #[test]
    fn a_taken_id_is_passed_over_and_a_group_of_the_name_is_joined() {
        let mut taken = database("ubuntu:x:1000:1000::/home/ubuntu:/bin/sh", "ubuntu:x:1000:\nx:x:1001:");
        let user = taken.add("user", "/home/user", "/bin/sh");
        assert_eq!((user.uid, user.gid), (1002, 1002));
        assert!(taken.passwd.contains("/bin/sh\nuser:"), "a missing line break is made up for");
        let mut joined = database("", "user:x:50:\n");
        let user = joined.add("user", "/home/user", "/bin/sh");
        assert_eq!((user.uid, user.gid), (1000, 50));
        assert_eq!(joined.group, "user:x:50:\n");
    }

    #[test]
    fn names() {
        for (name, fine) in
            [("user", true), ("_apt", true), ("a:b", false), ("", false), ("1000", false), ("A", false)]
        {
            assert_eq!(is_user_name(name), fine, "{name}");
        }
    }
}
