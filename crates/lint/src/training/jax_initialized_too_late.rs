//! Computations in JAX before its processes find each other.

use std::ops::Range;

use crate::read::python::{Call, Program, contains};
use crate::rule::{Found, Judge, Rule, Severity, named, named_with};

pub(crate) const RULE: Rule = Rule {
    id: "jax-initialized-too-late",
    severity: Severity::Error,
    summary: "jax.distributed.initialize() comes before every use of JAX's devices",
    explain: include_str!("jax_initialized_too_late.md"),
    judge: Judge::Training(judge),
    fires: &[
        named(
            "train.py",
            "import jax\ndef main():\n    key = jax.random.PRNGKey(0)\n    \
             jax.distributed.initialize()\n    print(jax.random.split(key))\nmain()\n",
        ),
        named(
            "train.py",
            "import jax\nimport jax.numpy as jnp\nSCALE = jnp.float32(0.5)\ndef main():\n    \
             jax.distributed.initialize(\"10.0.0.1:1234\", 2, 0)\n    print(SCALE)\nif __name__ == \
             \"__main__\":\n    main()\n",
        ),
        named(
            "train.py",
            "import jax\nfrom jax import distributed\ndef describe():\n    return \
             jax.local_device_count()\ndef main():\n    print(\"devices\", describe())\n    \
             distributed.initialize()\nmain()\n",
        ),
        named_with(
            "train.py",
            "import jax\nfrom consts import EPS\njax.distributed.initialize()\nprint(jax.devices(), EPS)\n",
            &[("consts.py", "import jax.numpy as jnp\nEPS = jnp.array(1e-6)\n")],
        ),
    ],
    silent: &[
        named(
            "train.py",
            "import jax\nimport jax.numpy as jnp\nimport numpy as np\njax.config.update(\"jax_enable_x64\", \
             True)\nEPS = np.float32(1e-6)\nDTYPE = jnp.bfloat16\n@jax.jit\ndef step(x):\n    return \
             jnp.sum(x)\ndef init(key):\n    return jax.random.normal(key, (3,))\ndef main():\n    \
             jax.distributed.initialize()\n    print(jax.devices(), step(init(jax.random.key(0))))\nmain()\n",
        ),
        named(
            "train.py",
            "import jax\ndef main(args):\n    if \
             args.single:\n        print(jax.devices())\n        return\n    \
             jax.distributed.initialize()\n    print(jax.process_index())\n",
        ),
        named_with(
            "train.py",
            "import jax\njax.distributed.initialize()\nfrom consts import EPS\nprint(jax.devices(), EPS)\n",
            &[("consts.py", "import jax.numpy as jnp\nEPS = jnp.array(1e-6)\n")],
        ),
        named(
            "train.py",
            "import jax\ntry:\n    jax.distributed.initialize()\nexcept RuntimeError:\n    pass\ndef \
             check():\n    assert jax.device_count() > 1\ncheck()\n",
        ),
    ],
};

fn judge(program: &Program) -> Vec<Found> {
    let mut starts = program.calls.iter().filter(|call| call.name == "jax.distributed.initialize");
    let Some(start) = starts.next().filter(|_| starts.next().is_none()) else { return Vec::new() };
    let caught = program.tries.iter().any(|one| contains(&one.body, &start.at));
    if caught || program.spawns() || !program.always_runs(start) {
        return Vec::new();
    }
    before(program, start).map(|(line, what)| fault(start, line, &what)).into_iter().collect()
}

/// What starts JAX's backend before a call, with its line; the call's own function, and what is at the top of
/// the program and of the modules that it imports.
fn before(program: &Program, start: &Call) -> Option<(usize, String)> {
    let top = 0..0;
    let at = |function: &Range<usize>, end: usize| first(program, function, end, 0);
    let here = at(&start.function, start.at.start);
    if here.is_some() || start.function == top {
        return here.or_else(|| of_modules(program, start.line));
    }
    // The top of the file runs up to the call of that function.
    let function = program.functions.iter().find(|one| one.at == start.function)?;
    let mut calls = program.calls.iter().filter(|call| call.name == function.name);
    let call = calls.next().filter(|call| calls.next().is_none() && call.function == top);
    let end = call.map_or(function.at.start, |call| call.at.start);
    at(&top, end).or_else(|| of_modules(program, call.map_or(usize::MAX, |call| call.line)))
}

/// How many functions are followed from one to the next.
const STEPS_LIMIT: usize = 3;

/// The first call of a function, up to a place, that starts the backend in any case.
fn first(program: &Program, function: &Range<usize>, end: usize, steps: usize) -> Option<(usize, String)> {
    let calls = program.calls.iter().take_while(|call| call.at.start < end);
    // A default or a decorator belongs to the file around it.
    let mut own = calls.filter(|call| call.function == *function && program.always_runs(call));
    own.find_map(|call| {
        if starts_backend(call) {
            return Some((call.line, format!("{}()", call.name)));
        }
        let inner =
            program.function(&call.name).filter(|one| steps < STEPS_LIMIT && one.decorators.is_empty())?;
        let (_, what) = first(program, &inner.at, usize::MAX, steps + 1)?;
        Some((call.line, format!("{}(), which calls {what}", call.name)))
    })
}

/// The first that a module of the directory does when it is imported before a line.
fn of_modules(program: &Program, before: usize) -> Option<(usize, String)> {
    program.modules.iter().filter(|one| one.text.contains("jax")).find_map(|one| {
        let module = one.program(program.catalog);
        let mut calls = module.calls.iter().filter(|call| call.function.is_empty() && !call.conditional);
        let call = calls.find(|call| starts_backend(call))?;
        let stem = one.name.rsplit('/').next()?.strip_suffix(".py")?;
        let import = program.text.lines().take(before.saturating_sub(1)).position(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let named = words.get(1).is_some_and(|name| name.rsplit('.').next() == Some(stem));
            named && !line.starts_with([' ', '\t']) && matches!(words.first(), Some(&("from" | "import")))
        })?;
        Some((import + 1, format!("{}() in line {} of {}", call.name, call.line, one.name)))
    })
}

/// Whether a call needs the devices.
fn starts_backend(call: &Call) -> bool {
    const OF_JAX: &[&str] = &[
        "jax.devices",
        "jax.local_devices",
        "jax.device_count",
        "jax.local_device_count",
        "jax.process_index",
        "jax.process_count",
        "jax.default_backend",
        "jax.device_put",
        "jax.make_mesh",
        "jax.random.PRNGKey",
        "jax.random.key",
        "jax.random.split",
        "jax.random.normal",
        "jax.random.uniform",
    ];
    const OF_NUMPY: &[&str] = &[
        "array", "asarray", "zeros", "ones", "full", "arange", "linspace", "eye", "float32", "float16",
        "bfloat16", "int32", "int64", "uint32", "uint64", "exp", "log", "sqrt", "sum",
    ];
    OF_JAX.contains(&call.name.as_str())
        || call.name.strip_prefix("jax.numpy.").is_some_and(|name| OF_NUMPY.contains(&name))
}

fn fault(start: &Call, line: usize, what: &str) -> Found {
    let message = format!(
        "line {line} calls {what}, which starts JAX's backend; jax.distributed.initialize() then raises \
         RuntimeError"
    );
    Found::error(
        start.line,
        message,
        "Call jax.distributed.initialize() first, before anything that uses JAX",
    )
}
