//! `~/.abx`: settings shown, set and unset, secrets stored.
//!
//! It works on files that other operations refuse, so that what is wrong with them can be mended here.

mod entry;

use std::path::PathBuf;

use abx_core::Secret;
pub use entry::{Changed, Entry, Source};

use crate::settings::folder::{self, Folder};
use crate::settings::key::{KEYS, Named};
use crate::settings::secrets::{self, SECRETS, SecretKey};
use crate::settings::{Settings, SettingsError, document};

/// What a secret looks like.
const STARS: &str = "****";

/// Where settings are and what goes before them.
#[derive(Clone, Debug)]
pub struct Config {
    user_home: Option<PathBuf>,
    cwd: Option<PathBuf>,
    variable: fn(&str) -> Option<String>,
}

/// The secret of this name, which is not to be given where others can read it.
pub fn secret(name: &str) -> Option<&'static SecretKey> {
    secrets::secret(name)
}

impl Config {
    /// Of the user whose process this is.
    pub fn from_env() -> Self {
        let user_home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        Self { user_home, cwd: std::env::current_dir().ok(), variable }
    }

    /// Every setting and what it is, then every secret.
    pub fn list(&self) -> Result<Vec<Entry>, SettingsError> {
        let now = self.now()?;
        let plain = KEYS.iter().filter(|key| !key.is_of_registry());
        let mut all: Vec<Named> = plain.map(|key| Named { key, host: String::new() }).collect();
        all.extend(now.said.iter().filter(|named| named.key.is_of_registry()).cloned());
        let mut entries: Vec<Entry> = all.iter().map(|named| self.entry(named, &now)).collect();
        for secret in SECRETS {
            entries.push(self.secret_entry(secret)?);
        }
        Ok(entries)
    }

    /// One setting.
    pub fn get(&self, name: &str) -> Result<Entry, SettingsError> {
        if let Some(secret) = secrets::secret(name) {
            return self.secret_entry(secret);
        }
        let named = Named::parse(name).ok_or_else(|| SettingsError::unknown(name, None))?;
        Ok(self.entry(&named, &self.now()?))
    }

    /// Checks the value and writes it. Secrets go to a file of their own.
    ///
    /// # Errors
    /// No such key, a value that does not fit, or a file that is wrong already; nothing is written then.
    pub fn set(&self, name: &str, value: &str) -> Result<Changed, SettingsError> {
        if let Some(secret) = secrets::secret(name) {
            let value = secret.read(value);
            let value = value.map_err(|reason| SettingsError::SecretValue { name: secret.name, reason })?;
            return self.write_secret(secret, Some(&value));
        }
        let named = Named::parse(name).ok_or_else(|| SettingsError::unknown(name, None))?;
        let fits = named.key.kind.read(value).map_err(|expected| SettingsError::Value {
            name: named.to_string(),
            value: value.to_owned(),
            expected,
            place: None,
        })?;
        let folder = Folder::make(self.home()?)?;
        folder.lock()?;
        let file = folder.path(folder::CONFIG);
        let old = document::read(&file)?.unwrap_or_default();
        let new = document::set(&old, &file, &named, &fits)?;
        let mut settings = Settings::default();
        document::apply(&new, &file, &mut settings)?;
        settings.check()?;
        folder.write_config(&new)?;
        let (_, was_set) = document::unset(&old, &file, &named.path())?;
        Ok(self.changed(&named, file, was_set))
    }

    /// Goes back to the default. What is no setting can be unset too where the file has it.
    pub fn unset(&self, name: &str) -> Result<Changed, SettingsError> {
        if let Some(secret) = secrets::secret(name) {
            return self.write_secret(secret, None);
        }
        let named = Named::parse(name);
        let path = named.as_ref().map_or_else(|| crate::settings::key::path(name), Named::path);
        let home = self.home()?;
        let file = home.join(folder::NAME).join(folder::CONFIG);
        let mut was_set = false;
        if let Some(folder) = Folder::open(home)? {
            folder.lock()?;
            if let Some(old) = document::read(&file)? {
                let new;
                (new, was_set) = document::unset(&old, &file, &path)?;
                if was_set {
                    folder.write_config(&new)?;
                }
            }
        }
        match named {
            Some(named) => Ok(self.changed(&named, file, was_set)),
            None if was_set => {
                Ok(Changed { key: name.to_owned(), file, was_set, overridden_by: None, notes: Vec::new() })
            }
            None => Err(SettingsError::unknown(name, None)),
        }
    }

    /// Stores a secret that has proved to be good.
    pub fn store(&self, secret: &'static SecretKey, value: &Secret) -> Result<Changed, SettingsError> {
        self.write_secret(secret, Some(value))
    }

    /// Keeps others out of the file of secrets where they are let in; says what was done.
    pub fn tighten(&self) -> Result<Vec<String>, SettingsError> {
        match self.user_home.as_deref().map(Folder::open).transpose()?.flatten() {
            Some(folder) => folder.tighten(),
            None => Ok(Vec::new()),
        }
    }

    fn write_secret(
        &self,
        secret: &'static SecretKey,
        value: Option<&Secret>,
    ) -> Result<Changed, SettingsError> {
        let home = self.home()?;
        let file = home.join(folder::NAME).join(folder::SECRETS);
        let mut changed = Changed {
            key: secret.name.to_owned(),
            file,
            was_set: false,
            overridden_by: self.before_stored(secret),
            notes: Vec::new(),
        };
        let folder = match value {
            Some(_) => Folder::make(home)?,
            None => match Folder::open(home)? {
                Some(folder) => folder,
                None => return Ok(changed),
            },
        };
        folder.lock()?;
        changed.notes = folder.tighten()?;
        let old = folder.secrets()?;
        changed.was_set = secrets::stored(&old, secret).is_some();
        if value.is_some() || changed.was_set {
            folder.write_secrets(&secrets::edit(&old, secret, value))?;
        }
        changed.notes.extend(forget_in_settings(&folder, secret)?);
        Ok(changed)
    }

    fn changed(&self, named: &Named, file: PathBuf, was_set: bool) -> Changed {
        let overridden_by = named.key.variable_set(&self.variable).map(|(variable, _)| variable);
        Changed { key: named.to_string(), file, was_set, overridden_by, notes: Vec::new() }
    }

    fn now(&self) -> Result<Now, SettingsError> {
        let file = self.user_home.as_ref().map(|home| home.join(folder::NAME).join(folder::CONFIG));
        let settings = Settings::load(file.as_deref(), &self.variable)?;
        let text = file.as_deref().map(document::read).transpose()?.flatten();
        let said = match (&text, &file) {
            (Some(text), Some(file)) => document::apply(text, file, &mut Settings::default())?,
            _ => Vec::new(),
        };
        Ok(Now { settings, said, file })
    }

    fn entry(&self, named: &Named, now: &Now) -> Entry {
        let in_file = now.said.iter().any(|said| said.to_string() == named.to_string());
        let (source, origin) = match named.key.variable_set(&self.variable) {
            Some((variable, _)) => (Source::Environment, Some(variable)),
            None if in_file => (Source::File, now.file.as_ref().map(|file| file.display().to_string())),
            None => (Source::Default, None),
        };
        Entry {
            key: named.to_string(),
            value: named.value(&now.settings),
            source,
            origin,
            is_secret: false,
            help: named.key.help,
            expects: named.key.kind.expects(),
        }
    }

    fn secret_entry(&self, secret: &'static SecretKey) -> Result<Entry, SettingsError> {
        let entry = |value: Option<&str>, source, origin| Entry {
            key: secret.name.to_owned(),
            value: value.map(str::to_owned),
            source,
            origin,
            is_secret: true,
            help: secret.help,
            expects: "a token; asked for where it is not given".into(),
        };
        if (self.variable)(secret.variable).is_some() {
            return Ok(entry(Some(STARS), Source::Environment, Some(secret.variable.to_owned())));
        }
        if self.in_working_folder(secret) {
            return Ok(entry(Some(STARS), Source::File, Some("./.env".to_owned())));
        }
        let folder = self.user_home.as_deref().map(Folder::open).transpose()?.flatten();
        let Some(folder) = folder else { return Ok(entry(None, Source::Default, None)) };
        match secrets::stored(&folder.secrets()?, secret) {
            Some(_) => {
                let file = folder.path(folder::SECRETS).display().to_string();
                Ok(entry(Some(STARS), Source::File, Some(file)))
            }
            None => Ok(entry(None, Source::Default, None)),
        }
    }

    /// What goes before the stored one.
    fn before_stored(&self, secret: &SecretKey) -> Option<String> {
        let variable = (self.variable)(secret.variable).map(|_| secret.variable.to_owned());
        variable.or_else(|| self.in_working_folder(secret).then(|| "./.env".to_owned()))
    }

    fn in_working_folder(&self, secret: &SecretKey) -> bool {
        secret.variable == crate::github::TOKEN_VARIABLE
            && self.cwd.as_deref().and_then(crate::github::working_folder_token).is_some()
    }

    fn home(&self) -> Result<&std::path::Path, SettingsError> {
        self.user_home.as_deref().ok_or(SettingsError::NoHome)
    }
}

/// Takes a secret out of the file of settings, where it does not belong and keeps every other command from working.
fn forget_in_settings(folder: &Folder, secret: &SecretKey) -> Result<Option<String>, SettingsError> {
    let file = folder.path(folder::CONFIG);
    let Some(old) = document::read(&file)? else { return Ok(None) };
    // What is no TOML is for its owner to mend.
    let Ok((new, true)) = document::unset(&old, &file, &[secret.name.to_owned()]) else { return Ok(None) };
    folder.write_config(&new)?;
    Ok(Some(format!("took {} out of {}, where others may read it", secret.name, file.display())))
}

/// What holds at the moment.
struct Now {
    settings: Settings,
    /// What the file says something of.
    said: Vec<Named>,
    file: Option<PathBuf>,
}
