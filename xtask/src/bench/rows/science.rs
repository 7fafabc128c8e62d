//! A scientific Python stack installed, with nothing downloaded yet and with all of it at hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::failure::Failure;
use crate::tool;

const ROUNDS: usize = 2;
const PACKAGES: [&str; 5] = ["pandas", "numpy", "scipy", "matplotlib", "scikit-learn"];

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    [false, true].map(|is_cached| contest(lab, is_cached)).into_iter().collect()
}

fn contest(lab: &Lab, is_cached: bool) -> Result<Outcome, Failure> {
    let mut contest = if is_cached {
        Contest::new("science-downloaded", "The same with the downloads kept.", Unit::Seconds)
    } else {
        Contest::new(
            "science",
            "pandas, numpy, scipy, matplotlib and scikit-learn over `python-base`, nothing downloaded yet.",
            Unit::Seconds,
        )
    };
    let folder = lab.folder("science")?;
    contest.add("abx template build", {
        let folder = folder.clone();
        move || {
            if !is_cached {
                forget(&lab.ours().home().join("store/cache/pip"))?;
                forget(&lab.ours().home().join("store/cache/uv"))?;
            }
            let template = template(&folder.join("template"))?;
            Ok(timed(lab.ours().command(&["template", "build"]).arg(template))?.seconds)
        }
    });
    docker(lab, &mut contest, is_cached, &folder)?;
    match tool::find("uv") {
        Some(uv) => contest.add("uv alone", move || uv_alone(&uv, &folder, is_cached)),
        None => contest.skip("uv", "not installed: pip install uv"),
    }
    Ok(match is_cached {
        // The first round fills the caches.
        true => contest.run(lab.few_rounds(ROUNDS)),
        false => contest.run_cold(lab.few_rounds(ROUNDS)),
    })
}

fn docker<'l>(
    lab: &'l Lab,
    contest: &mut Contest<'l>,
    is_cached: bool,
    folder: &Path,
) -> Result<(), Failure> {
    let root = lab.root("python-base")?.with_host_network(lab)?;
    let (docker, image) = match lab.docker(&root) {
        Ok(found) => found,
        Err(reason) => {
            contest.skip("docker", reason);
            return Ok(());
        }
    };
    let context = folder.join("context");
    std::fs::create_dir_all(&context).map_err(Failure::file(&context))?;
    contest.add("pip in docker build (BuildKit)", move || {
        let (mount, option) = match is_cached {
            true => ("--mount=type=cache,target=/root/.cache/pip ", ""),
            false => ("", "--no-cache-dir "),
        };
        let packages = PACKAGES.join(" ");
        let text =
            format!("FROM {image}\nRUN {mount}pip install {option}--break-system-packages {packages}\n");
        let path = context.join("Dockerfile");
        std::fs::write(&path, text).map_err(Failure::file(&path))?;
        let arguments = ["build", "--quiet", "--no-cache", "--network", "host", "--tag", "bench"];
        Ok(timed(docker.command(&arguments).arg(&context))?.seconds)
    });
    Ok(())
}

/// A template with a step that no build has seen.
fn template(folder: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(folder).map_err(Failure::file(folder))?;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let text = format!(
        "version: \"1\"\nmetadata:\n  name: science\nbase:\n  from: python-base\n\
         build:\n  pip_install: [{}]\n  env:\n    PIP_ROUND: \"{}\"\n    UV_ROUND: \"{1}\"\n",
        PACKAGES.join(", "),
        since.as_millis(),
    );
    let path = folder.join("template.yaml");
    std::fs::write(&path, text).map_err(Failure::file(&path))?;
    Ok(folder.to_owned())
}

/// Into an environment of its own, as fast as it can be had: without byte code.
fn uv_alone(uv: &Path, folder: &Path, is_cached: bool) -> Result<f64, Failure> {
    let (environment, cache) = (folder.join("environment"), folder.join("uv-cache"));
    forget(&environment)?;
    if !is_cached {
        forget(&cache)?;
    }
    let uv = || {
        let mut command = Command::new(uv);
        command.env("UV_CACHE_DIR", &cache);
        command
    };
    quiet(uv().args(["venv", "--quiet"]).arg(&environment))?;
    let mut install = uv();
    install.args(["pip", "install", "--quiet", "--python"]).arg(&environment).args(PACKAGES);
    Ok(timed(&mut install)?.seconds)
}

fn forget(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::file(folder)(error)),
        _ => Ok(()),
    }
}
