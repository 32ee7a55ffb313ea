//! Tests of the scripts of `action/`, with fake programs `gh` and `curl` that record their arguments.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Bench, VECTORED, entries, needs_strace, said_by};

/// `gh api` prints the file whose name is the last part of the address, filtered by jq as in the real `gh`.
const GH: &str = r#"#!/bin/sh
echo "$@" >>gh.log
filter=.
while [ $# -gt 0 ]; do
    case $1 in
    --jq) filter=$2 && shift ;;
    */pulls) answer=pulls ;;
    */comments) answer=comments ;;
    body=@*) cp "${1#body=@}" body ;;
    POST | PATCH) written=yes ;;
    esac
    shift
done
[ -n "$written" ] || jq -r "$filter" $answer.json
"#;

const CURL: &str =
    "#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\ncp \"${3#https://host/}\" \"$2\"\n";

/// The repository has three commits: two with equal work, and a third with 1,000 more writes.
struct Repository(Bench);

impl Repository {
    fn new() -> Repository {
        let bench = Bench::new();
        for (name, text) in [("gh", GH), ("curl", CURL)] {
            let path = bench.work().join("bin").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
        }
        let makes = "chmod +x bin/*; mkdir temp source; cd source; git init -q; git config user.name x; git config user.email x@x
            commit() { echo \"dd if=data bs=$1 status=none # $2\" >source.sh; git add .; git commit -qm \"$2\"; }
            head -c 1001 /dev/zero | tr '\\0' x >data; commit 1001 base; commit 1001 equal; git branch equal; commit 1 slow";
        bench.script(makes).assert().success();
        Repository(bench)
    }

    fn step(&self, script: &str, variables: &[(&str, &str)], code: i32) -> String {
        let work = self.0.work();
        let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../action");
        let mut command = self.0.program("bash");
        let path = std::env::var("PATH").unwrap();
        command
            .arg(scripts.join(script))
            .env("PATH", format!("{}:{path}", work.join("bin").display()))
            .env("RUNNER_TEMP", work.join("temp"))
            .env("GITHUB_WORKSPACE", work.join("source"))
            .env("GITHUB_STEP_SUMMARY", work.join("summary"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("NAME", "calls of dd")
            .envs(variables.iter().copied());
        let (stdout, stderr) = said_by(&mut assert_cmd::Command::from_std(command), code);
        stdout + &stderr
    }

    fn comment(&self, sha: &str, code: i32) {
        let of = [
            ("HEAD_OWNER", "me"),
            ("HEAD_BRANCH", "x"),
            ("HEAD_SHA", sha),
        ];
        self.step("comment.sh", &of, code);
    }

    fn git(&self, words: &str) -> String {
        let script = format!("cd source && git {words}");
        said_by(&mut self.0.script(&script), 0).0
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.work().join(name)).unwrap()
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = entries(folder)
        .iter()
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_steps_fail_for_a_regression_pass_otherwise_and_leave_no_trace() {
    needs_strace!();
    let repository = Repository::new();
    repository.step("install.sh", &[("TOOL", VECTORED)], 0);
    let compare = |base: &str, options: &str, code| {
        let variables = [
            ("BASE", base),
            ("BUILD", "cp source.sh built"),
            ("COMMAND", "sh built"),
            ("OPTIONS", options),
            ("UNDECIDED", "pass"),
        ];
        repository.step("compare.sh", &variables, code);
        repository.read("temp/vectored/result/comment.md")
    };
    let limit = "--rounds 1 --warmup 0 --fail-if-more-calls 1%";
    let comment = compare("equal", limit, 3);
    for told in [
        "### calls of dd: **a limit is exceeded**\n",
        "`sh built`, base ",
        "new makes 1001 writes instead of 1",
        "| write | 1 | 1001 |",
        "<details><summary>All calls and files</summary>\n\n#### System calls of old and new\n",
    ] {
        assert!(comment.contains(told), "{told}: {comment}");
    }
    assert!(!comment.contains("/temp/"), "{comment}");
    assert_eq!(repository.read("summary"), comment);
    let temp = repository.0.work().join("temp/vectored");
    assert_eq!(names_in(&temp), ["result", "vectored"]);
    let results = names_in(&temp.join("result"));
    assert_eq!(results, ["comment.md", "result.json"]);
    assert_eq!(repository.git("status --porcelain"), "");
    assert_eq!(repository.git("worktree list").lines().count(), 1);
    repository.git("checkout -q equal");
    let comment = compare("HEAD~1", limit, 0);
    let told = "### calls of dd: no limit is exceeded\n";
    assert!(comment.contains(told), "{comment}");
    let undecided = "--rounds 2 --warmup 0 --fail-if-slower 1%";
    assert!(compare("HEAD~1", undecided, 0).contains("could not be decided"));
    let missing = [("BASE", ""), ("COMMAND", "sh built")];
    let said = repository.step("compare.sh", &missing, 2);
    assert!(said.contains("base: HEAD~1"));
    assert!(!repository.0.state_home().exists());
}

#[test]
fn what_cannot_be_compared_fails_and_is_told() {
    needs_strace!();
    let repository = Repository::new();
    repository.step("install.sh", &[("TOOL", VECTORED)], 0);
    let limit = "--rounds 1 --warmup 0 --fail-if-more-calls 1%";
    // A misspelt command fails in both versions in the same way.
    for row in "\
HEAD | true | sh absent | LIMIT | 1 | ends with 2: give --ignore-failure
HEAD | true | sh absent | LIMIT --prepare 'test -n x' --ignore-failure | 0 | no limit is exceeded
HEAD | exit 7 | true | LIMIT | 1 | the build of the old version failed
--upload-pack=touch ../broken | true | true | LIMIT | 1 | the base cannot be fetched
HEAD | true | sh absent\\n | LIMIT | 1 | \\n`sh absent`, base "
        .lines()
    {
        let row = row.replace("LIMIT", limit).replace("\\n", "\n");
        let cells: Vec<&str> = row.split(" | ").collect();
        let names = ["BASE", "BUILD", "COMMAND", "OPTIONS"];
        let variables: Vec<_> = std::iter::zip(names, cells.iter().copied()).collect();
        repository.step("compare.sh", &variables, cells[4].parse().unwrap());
        let comment = repository.read("temp/vectored/result/comment.md");
        assert!(comment.contains(cells[5]), "{row}: {comment}");
    }
    assert!(!repository.0.work().join("broken").exists());
    repository.step("compare.sh", &[("BASE", "HEAD"), ("RUNNER_TEMP", "a b")], 2);
}

#[test]
fn a_pull_request_gets_one_comment_that_is_updated() {
    let repository = Repository::new();
    let work = repository.0.work();
    let result = work.join("temp/vectored/result");
    fs::create_dir_all(&result).unwrap();
    fs::write(result.join("comment.md"), "### calls: @all look\n").unwrap();
    let pulls = r#"[{"number": 6, "head": {"sha": "aa"}}, {"number": 7, "head": {"sha": "bb"}}]"#;
    fs::write(work.join("pulls.json"), pulls).unwrap();
    let mark = "<!-- vectored versus: calls of dd -->";
    let comment = |id, kind, body: &str| {
        format!(r#"{{"id": {id}, "user": {{"type": "{kind}"}}, "body": "{body}\nx"}}"#)
    };
    let others = [comment(1, "User", mark), comment(2, "Bot", "other")].join(",");
    let ask = |comments: &str, sha: &str| {
        fs::write(work.join("comments.json"), format!("[{comments}]")).unwrap();
        let _ = fs::remove_file(work.join("gh.log"));
        repository.comment(sha, 0);
        repository.read("gh.log")
    };
    let asked = ask(&others, "bb");
    let post = "api --method POST repos/owner/name/issues/7/comments -F body=@";
    assert!(asked.contains(post), "{asked}");
    let body = repository.read("body");
    assert_eq!(body, format!("{mark}\n### calls: @\u{200b}all look\n"));
    let asked = ask(&format!("{others},{}", comment(3, "Bot", mark)), "bb");
    let patch = "api --method PATCH repos/owner/name/issues/comments/3 -F body=@";
    assert!(asked.contains(patch) && !asked.contains("POST"), "{asked}");
    // Two pull requests have the branch, and the comment exceeds GitHub's limit.
    fs::write(work.join("pulls.json"), pulls.replace("aa", "bb")).unwrap();
    let long = format!("&#64;all @{}", "@".repeat(99_999));
    fs::write(result.join("comment.md"), long).unwrap();
    let asked = ask("", "bb");
    let both = ["issues/6/comments -F", "issues/7/comments -F"];
    assert!(both.iter().all(|one| asked.contains(one)), "{asked}");
    let body = repository.read("body");
    assert!(body.contains("&\u{200b}#64;all @\u{200b}") && body.len() < 65_536);
    // No open pull request has this commit.
    assert_eq!(ask("", "cc").lines().count(), 1);
    // The result contains a link to a file that only this job may read.
    fs::remove_file(result.join("comment.md")).unwrap();
    std::os::unix::fs::symlink("/proc/self/environ", result.join("comment.md")).unwrap();
    repository.comment("bb", 1);
}

#[test]
fn a_tool_whose_sum_is_another_is_not_run() {
    let repository = Repository::new();
    let source = repository.0.work().join("source");
    fs::copy(VECTORED, source.join("tool")).unwrap();
    let sum = said_by(&mut repository.0.script("sha256sum <source/tool"), 0).0;
    let sum = sum.split(' ').next().unwrap();
    let right = format!("{sum}  tool\n");
    let wrong = right.replace(|c: char| c.is_ascii_digit(), "0");
    for (sums, given, code, told) in [
        (&*right, "", 0, "vectored 0."),
        (&wrong, "", 1, "does not have the SHA-256 sum"),
        (&wrong, sum, 0, "vectored 0."),
        ("", "", 1, "does not name it"),
    ] {
        fs::write(source.join("SHA256SUMS"), sums).unwrap();
        let variables = [("TOOL", "https://host/tool"), ("SHA256", given)];
        let said = repository.step("install.sh", &variables, code);
        assert!(said.contains(told), "{told}: {said}");
        let is_there = repository.0.work().join("temp/vectored/vectored").exists();
        assert_eq!(is_there, code == 0 || sums.is_empty(), "{told}");
    }
}
