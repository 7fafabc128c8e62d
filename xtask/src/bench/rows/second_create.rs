//! Create from a template that is built: everything is checked, nothing is made.

use crate::bench::clock::{quiet, timed};
use crate::bench::contest::{Contest, Outcome, Unit};
use crate::bench::lab::Lab;
use crate::bench::rows::TRUE;
use crate::bench::rows::package::Package;
use crate::failure::Failure;

const ROUNDS: usize = 30;

pub(crate) fn run(lab: &Lab) -> Result<Vec<Outcome>, Failure> {
    let root = lab.root("python-base")?.with_host_network(lab)?;
    let package = Package::write(lab.folder("package")?)?;
    let template = package.template();
    quiet(lab.ours().command(&["template", "build"]).arg(&template))?;

    let mut contest = Contest::new(
        "second-create",
        "Create from a folder whose template is built (apt, pip, 200 files), run `/bin/true`, remove; no network.",
        Unit::Seconds,
    );
    contest.add("abx create ./folder --rm", || {
        let mut command = lab.ours().command(&["create"]);
        command.arg(&template).args(["--network", "none", "--rm", "--", TRUE[0]]);
        Ok(timed(&mut command)?.seconds)
    });
    match lab.docker(&root) {
        Ok((docker, image)) => {
            package.write_dockerfile(&image)?;
            let context = package.context();
            contest.add("docker build, run --rm", move || {
                let arguments = ["build", "--quiet", "--network", "host", "--tag", "bench"];
                let build = timed(docker.command(&arguments).arg(&context))?;
                let run = timed(&mut docker.run("none", &["--rm"], "bench", &TRUE))?;
                Ok(build.seconds + run.seconds)
            });
        }
        Err(reason) => contest.skip("docker", reason),
    }
    Ok(vec![contest.run(lab.few_rounds(ROUNDS))])
}
