//! What every call can see.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Instant;

use abx_protocol::BootConfig;
use abx_protocol::private::LIBRARY;

use crate::activity::Activity;
use crate::code::CodeServer;
use crate::commands::Commands;
use crate::files::watchers::Watchers;
use crate::metrics::CpuMeter;
use crate::process::Processes;
use crate::reaper::Reaper;
use crate::startup::StartupLog;
use crate::users::{Accounts, UnknownUser, User};

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The daemon's state. Everything runs on one thread.
pub(crate) struct Guest {
    /// As it was at boot; what `/init` may change is in `settings`.
    pub(crate) config: BootConfig,
    pub(crate) settings: RefCell<Settings>,
    pub(crate) reaper: Rc<Reaper>,
    pub(crate) activity: Rc<Activity>,
    pub(crate) processes: Processes,
    pub(crate) watchers: Watchers,
    pub(crate) startup: StartupLog,
    pub(crate) code: CodeServer,
    pub(crate) commands: Commands,
    pub(crate) cpu: CpuMeter,
    pub(crate) started: Instant,
    /// Children must set their out-of-memory score back to 0.
    pub(crate) resets_oom_score: bool,
}

/// What `/init` may change.
pub(crate) struct Settings {
    pub(crate) env: Vec<(String, String)>,
    pub(crate) user: String,
    pub(crate) workdir: String,
    pub(crate) access_token: Option<String>,
}

impl Guest {
    pub(crate) fn new(config: BootConfig, startup: StartupLog, resets_oom_score: bool) -> Rc<Self> {
        let settings = Settings {
            env: config.env.clone(),
            user: if config.user.is_empty() { "root".to_owned() } else { config.user.clone() },
            workdir: config.workdir.clone(),
            access_token: config.access_token.clone(),
        };
        Rc::new(Self {
            config,
            settings: RefCell::new(settings),
            reaper: Rc::default(),
            activity: Activity::new(),
            processes: Processes::default(),
            watchers: Watchers::default(),
            startup,
            code: CodeServer::default(),
            commands: Commands::default(),
            cpu: CpuMeter::default(),
            started: Instant::now(),
            resets_oom_score,
        })
    }

    /// The named user, or the default one.
    pub(crate) fn user(&self, name: Option<&str>) -> Result<User, UnknownUser> {
        let accounts = Accounts::read();
        match name.filter(|name| !name.is_empty()) {
            Some(name) => accounts.find(name),
            None => accounts.find(&self.settings.borrow().user),
        }
    }

    /// The shell of the startup command and of probes.
    pub(crate) fn shell(&self) -> &str {
        match self.config.shell.as_str() {
            "" if Path::new("/bin/bash").exists() => "/bin/bash",
            "" => "/bin/sh",
            shell => shell,
        }
    }

    /// Where a process starts that names no directory: the workdir, else the home, else the root.
    pub(crate) fn default_directory(&self, user: &User) -> PathBuf {
        let workdir = PathBuf::from(&self.settings.borrow().workdir);
        [workdir, user.home.clone()]
            .into_iter()
            .find(|path| path.is_absolute() && path.is_dir())
            .unwrap_or_else(|| "/".into())
    }

    /// The whole environment of a process: who it runs as, then the sandbox's variables, then what says
    /// which sandbox this is, then the call's own. Python finds our package last.
    pub(crate) fn environment(
        &self,
        user: &User,
        own: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let mut env = BTreeMap::from(
            [
                ("PATH", DEFAULT_PATH),
                ("HOME", &user.home.to_string_lossy()),
                ("USER", &user.name),
                ("LOGNAME", &user.name),
                ("SHELL", &user.shell),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        env.extend(self.settings.borrow().env.iter().cloned());
        env.insert("E2B_SANDBOX".to_owned(), "true".to_owned());
        env.insert("E2B_SANDBOX_ID".to_owned(), self.config.sandbox_id.clone());
        env.insert("E2B_TEMPLATE_ID".to_owned(), self.config.template.clone());
        env.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
        if Path::new(LIBRARY).exists() {
            append(env.entry("PYTHONPATH".to_owned()).or_default(), LIBRARY);
        }
        env
    }
}

/// Adds `last` to a list of paths, behind all that is there.
fn append(list: &mut String, last: &str) {
    if !list.is_empty() {
        list.push(':');
    }
    list.push_str(last);
}
