#!/usr/bin/env bash
# Builds the base and the head in folders of their own, compares them, and leaves comment.md and result.json in
# $RUNNER_TEMP/vectored/result. The exit status is the one of `vectored versus`, but 0 for 4 unless UNDECIDED is `fail`, and 1 if
# a build fails, or both versions alike: a command that is spelt wrong must not pass.
# COMMAND and BASE are needed; the tool is $RUNNER_TEMP/vectored/vectored, the repository is the present folder or GITHUB_WORKSPACE.
set -euo pipefail
: "${NAME:=vectored}" "${BUILD:=true}" "${OPTIONS:=--rounds 1 --fail-if-more-calls 1%}" "${UNDECIDED:=pass}" "${COMMAND:=}" "${BASE:=}"
COMMAND=${COMMAND%$'\n'}
folder=$RUNNER_TEMP/vectored
result=$folder/result
vectored=$folder/vectored
cd "${GITHUB_WORKSPACE:-.}"
rm -rf "$result"
mkdir -p "$result"
if [ -z "$COMMAND" ] || [ -z "$BASE" ]; then
    echo "::error::the inputs 'command' and 'base' are needed; without a pull request, name the base: 'base: HEAD~1'"
    exit 2
fi
# The path is part of the command and of a pattern of sed.
case $folder in
*[!A-Za-z0-9/._+@:,=-]*)
    echo "::error::RUNNER_TEMP has a character that a shell splits or expands: $RUNNER_TEMP"
    exit 2
    ;;
esac
# failed WHAT: an older comment on the pull request must not stand for this commit.
failed() {
    echo "### $NAME: **$1**" >"$result/comment.md"
    [ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$result/comment.md" >>"$GITHUB_STEP_SUMMARY"
    echo "::error::$1"
    exit 1
}
# Options with quotation marks, as in --prepare 'make clean', but no patterns of file names.
options=$(xargs -n 1 printf '%s\n' <<<"$OPTIONS") || failed "the options cannot be split into words"
mapfile -t options <<<"$options"
remove() {
    for tree in old new; do
        git worktree remove --force "$folder/$tree" 2>/dev/null || rm -rf "${folder:?}/$tree"
    done
    git worktree prune
}
remove
trap remove EXIT
if ! git rev-parse --quiet --verify "$BASE^{commit}" >/dev/null; then
    git fetch --quiet --depth 1 -- origin "$BASE" || failed "the base cannot be fetched"
    BASE=FETCH_HEAD
fi
# Paths of the same length, since the length of a path shifts a program's memory.
git worktree add --quiet --detach "$folder/old" "$BASE"
git worktree add --quiet --detach "$folder/new" HEAD
for tree in old new; do
    echo "::group::Build $tree"
    (cd "$folder/$tree" && bash -eo pipefail -c "$BUILD") || failed "the build of the $tree version failed"
    echo "::endgroup::"
done
# Without a shell, whose start would be timed.
of() {
    echo "env --chdir=$folder/$1 ${COMMAND//\{tree\}/$folder/$1}"
}
status=0
"$vectored" versus --no-save --quiet --format json --output "$result/result.json" "${options[@]}" "$(of old)" "$(of new)" \
    2>"$folder/message" || status=$?
cat "$folder/message" >&2
ended=$(grep -so '"ended":"exit status [1-9][0-9]*"' "$result/result.json") || ended=
ended=${ended%%$'\n'*} ended=${ended//[!0-9]/}
case $status in
0 | 4) [ -z "$ended" ] || [[ " ${options[*]} " == *" --ignore-failure "* ]] || status=1 ;;
esac
case $status in
0) verdict="no limit is exceeded" ;;
3) verdict="**a limit is exceeded**" ;;
4) verdict="a limit could not be decided" ;;
5) verdict="**the outputs differ**" ;;
*) verdict="**the comparison failed**${ended:+ (the command ends with $ended: give --ignore-failure if that is meant)}" ;;
esac
shown=$(printf %s "$COMMAND" | tr '\n`' " '")
{
    echo "### $NAME: $verdict"
    echo
    echo "\`$shown\`, base $(git rev-parse --short "$BASE"), head $(git rev-parse --short HEAD)"
    echo
    if [ -s "$result/result.json" ]; then
        # Without the title, which has the commands; the sections are folded.
        "$vectored" report "$result/result.json" --markdown - | sed "1,2d; s|$folder/||g" |
            awk '/^## / && !folded++ { print "<details><summary>All calls and files</summary>\n" }
                { sub(/^## /, "#### "); print } END { if (folded) print "\n</details>" }'
    else
        # A line with four spaces before it is code: what programs say is no markup.
        sed "s|$folder/||g; s/^/    /" "$folder/message"
    fi
} >"$result/comment.md"
rm "$folder/message"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$result/comment.md" >>"$GITHUB_STEP_SUMMARY"
[ "$status" != 1 ] || [ -z "$ended" ] || echo "::error::the command ends with exit status $ended: give --ignore-failure if that is meant"
[ "$status" != 4 ] || [ "$UNDECIDED" = fail ] || status=0
exit "$status"
