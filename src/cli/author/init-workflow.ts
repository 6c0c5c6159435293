/**
 * The checks of a pull request on policies. Names of branches reach the shell only as variables, because the author of
 * the pull request chooses them. The base is checked out next to the change, because diff and backtest compare two
 * directories. The repository's administrator names the package's source. With only a bare package name, the first
 * person who registers that name could run code here.
 */
export function workflow(): string {
  return `# Checks, tests, diffs and backtests the policies on every pull request. Nothing here can reach a gateway.
name: policies
on:
  pull_request:
    paths: ['policies/**', '.github/workflows/policies.yml']
  push:
    branches: [main]

permissions:
  contents: read

env:
  # What npm installs, a variable of this repository (Settings > Secrets and variables > Actions): the URL of the file that
  # \`npm pack\` made, or NAME@VERSION of a registry that is yours. No file of this repository: a pull request could replace what judges it.
  PACKAGE: \${{ vars.COUNTERSIGN_PACKAGE }}

jobs:
  policies:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    steps:
      - uses: actions/checkout@v4
        with: { fetch-depth: 0, persist-credentials: false }
      - uses: actions/setup-node@v4
        with: { node-version: 22 }

      - name: Install
        shell: bash
        run: npm install --global --ignore-scripts "\${PACKAGE:?set the variable COUNTERSIGN_PACKAGE of this repository}"

      - name: Check
        shell: bash
        run: countersign check policies

      - name: Test
        shell: bash
        run: countersign test policies --junit policy-tests.xml

      - name: Check out the base beside it
        if: github.event_name == 'pull_request'
        shell: bash
        env: { BASE: '\${{ github.event.pull_request.base.sha }}' }
        run: git worktree add --detach ../base "$BASE"

      # Exit code 5, and a red check, when a call may now run that could not before, or with fewer eyes on it.
      - name: Diff
        if: github.event_name == 'pull_request'
        shell: bash
        run: countersign diff ../base/policies policies --fail-on loosens --format markdown | tee -a "$GITHUB_STEP_SUMMARY"

      # Recorded decisions (countersign evidence export) to replay on both; without a file there is nothing to replay.
      - name: Backtest
        if: \${{ !cancelled() && github.event_name == 'pull_request' && hashFiles('evidence.ndjson') != '' }}
        shell: bash
        run: countersign backtest --evidence evidence.ndjson ../base/policies policies | tee -a "$GITHUB_STEP_SUMMARY"

      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() }}
        with: { name: policy-tests, path: policy-tests.xml, if-no-files-found: ignore }
`
}
