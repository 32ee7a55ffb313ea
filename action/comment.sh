#!/usr/bin/env bash
# Writes $RUNNER_TEMP/vectored/result/comment.md as one comment on the pull request, or into the comment that is there.
# The file comes from a job that ran the code of the pull request: it is only text here.
set -euo pipefail
file=$RUNNER_TEMP/vectored/result/comment.md
mark="<!-- vectored versus: ${NAME//[^A-Za-z0-9 ._-]/} -->"
# The artifact does not say which pull request it belongs to: the event does.
number=$(gh api --method GET "repos/$GITHUB_REPOSITORY/pulls" -f state=open -f head="$HEAD_OWNER:$HEAD_BRANCH" \
    --jq ".[] | select(.head.sha == \"${HEAD_SHA//[^0-9a-f]/}\") | .number")
if [ -z "$number" ]; then
    echo "no open pull request has the commit $HEAD_SHA: no comment"
    exit 0
fi
# A link could lead to the token.
if [ -L "$file" ] || [ ! -f "$file" ]; then
    echo "::error::the result has no comment.md"
    exit 1
fi
body=$(mktemp)
trap 'rm "$body"' EXIT
# Nobody is notified by a name in it, also not by &#64;, and GitHub takes 65,536 characters.
{
    echo "$mark"
    head -c 60000 <(head -c 60000 "$file" | sed 's/[@&]/&\xe2\x80\x8b/g') | iconv -c -f UTF-8 -t UTF-8
} >"$body"
# A branch may have pull requests into several others.
for one in $number; do
    own=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$one/comments" \
        --jq ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$mark\"))) | .id" | head -n 1)
    if [ -n "$own" ]; then
        gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$own" -F body=@"$body" --silent
    else
        gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$one/comments" -F body=@"$body" --silent
    fi
done
