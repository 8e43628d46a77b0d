//! A Python package that loads a library of the system which is not there.

use crate::base::Base;
use crate::read::dockerfile::{Dockerfile, From, Run, Stage, apt};
use crate::rule::{Found, Judge, Location, Rule, Severity, dockerfile};

pub(crate) const RULE: Rule = Rule {
    id: "shared-library-missing",
    severity: Severity::Warning,
    summary: "system libraries that Python packages load are installed",
    explain: include_str!("shared_library_missing.md"),
    judge: Judge::Dockerfile(judge),
    fires: &[
        dockerfile(
            "FROM python:3.10-slim-bookworm\nRUN pip install --no-cache-dir opencv-python==4.9.0.80\n",
        ),
        dockerfile("FROM python:3.12-slim\nRUN pip install --no-cache-dir mpi4py\n"),
        dockerfile("FROM python:3.12-slim\nRUN pip install --no-cache-dir psycopg2\n"),
    ],
    silent: &[
        dockerfile(
            "FROM python:3.12-slim\nCOPY --from=build /wheels /wheels\n\
             RUN pip install --no-cache-dir --no-index --find-links=/wheels psycopg2\n",
        ),
        dockerfile(
            "FROM python:3.10-slim-bookworm\nRUN apt-get update && apt-get install -y libgl1 libglib2.0-0\n\
             RUN pip install --no-cache-dir opencv-python==4.9.0.80\n",
        ),
        dockerfile(
            "FROM python:3.10-slim-bookworm\nRUN pip install --no-cache-dir \
             opencv-python-headless==4.9.0.80 psycopg2-binary\n",
        ),
        dockerfile("FROM python:3.12\nRUN pip install --no-cache-dir psycopg2\n"),
        dockerfile("FROM python:3.12-slim\nRUN ./setup.sh\nRUN pip install --no-cache-dir opencv-python\n"),
        dockerfile(
            "FROM python:3.12-slim AS a\nRUN pip install --no-cache-dir opencv-python\nFROM debian:12\n\
             COPY --from=a /x /x\n",
        ),
    ],
};

/// What a Python package needs of the system.
struct Need {
    packages: &'static [&'static str],
    /// How it fails without.
    fails: &'static str,
    /// Packages of Debian and Ubuntu with the library, the one to install first.
    brought_by: &'static [&'static str],
    /// Whether it is the installation that fails.
    at_build: bool,
}

const NEEDS: &[Need] = &[
    Need {
        packages: &["opencv-python", "opencv-contrib-python"],
        fails: "`import cv2` fails: libGL.so.1 cannot be opened",
        brought_by: &[
            "libgl1",
            "libgl1-mesa",
            "libgl-dev",
            "libglx",
            "libegl",
            "libopencv",
            "python3-opencv",
            "ffmpeg",
            "mesa",
            "libgtk",
            "xvfb",
            "libglu1",
            "x11",
            "libsm6",
            "libqt5",
            "qtbase",
        ],
        at_build: false,
    },
    Need {
        packages: &["mpi4py"],
        fails: "mpi4py needs an MPI library",
        brought_by: &["libopenmpi-dev", "openmpi", "libmpich-dev", "mpich", "mpi-default", "libopenmpi"],
        at_build: true,
    },
    Need {
        packages: &["psycopg2"],
        fails: "psycopg2 has no wheel; its build needs pg_config",
        brought_by: &["libpq-dev", "postgresql"],
        at_build: true,
    },
    Need {
        packages: &["pyaudio"],
        fails: "PyAudio has no wheel for Linux; its build needs portaudio.h",
        brought_by: &["portaudio19-dev", "libportaudio"],
        at_build: true,
    },
    Need {
        packages: &["mysqlclient"],
        fails: "mysqlclient has no wheel for Linux; its build needs mysql_config",
        brought_by: &["default-libmysqlclient-dev", "libmysqlclient-dev", "libmariadb-dev"],
        at_build: true,
    },
];

fn judge(file: &Dockerfile) -> Vec<Found> {
    let shipped: Vec<usize> = file.shipped().iter().map(|stage| stage.line).collect();
    let mut found = Vec::new();
    for (stage, run, install) in file.installs() {
        if !is_small(stage) || stage.end.opaque || !shipped.contains(&stage.line) {
            continue;
        }
        for need in NEEDS {
            let Some(one) = need.packages.iter().find_map(|name| install.requirement(name)) else { continue };
            let has = |run: &&Run| {
                let words = apt::packages(run.state.catalog, &run.command);
                let brings = |name: &str| need.brought_by.iter().any(|start| name.starts_with(start));
                words.iter().any(|word| !word.known || brings(apt::name(word)) || word.text.ends_with(".deb"))
            };
            // What only runs needs it at the end; what is built needs it before.
            let ends = if need.at_build { run.instruction } else { usize::MAX };
            // Wheels that another stage built.
            if need.at_build && install.option("--no-index") {
                continue;
            }
            if stage.runs.iter().filter(|run| run.instruction <= ends).any(|run| has(&run)) {
                continue;
            }
            let package = need.brought_by[0];
            let message = format!("{}, and {package} is not installed", need.fails);
            // Not every program imports all that its list installs.
            found.push(Found::warning(Location::from(one), message, fix(one.name.as_str(), package)));
        }
    }
    found
}

fn fix(name: &str, package: &str) -> String {
    match name {
        "opencv-python" | "opencv-contrib-python" => {
            format!("Install {package} and libglib2.0-0 with apt-get, or use {name}-headless")
        }
        "psycopg2" => "Use psycopg2-binary, or install libpq-dev and gcc with apt-get".to_owned(),
        _ => format!("Install {package} with apt-get"),
    }
}

/// Whether a base certainly has none of these libraries.
fn is_small(stage: &Stage) -> bool {
    let From::Image(image) = &stage.from else { return false };
    let text = image.text.as_str();
    let base = Base::of(text);
    let slim = base == Some(Base::Python) && text.contains("slim");
    let copies = stage.instructions.iter().any(|one| {
        one.flag("from").is_some()
            && ["/usr", "/lib"].iter().any(|path| one.text.text.contains(&format!(" {path}")))
    });
    image.known && !copies && (slim || base.is_some_and(Base::lacks_python))
}
