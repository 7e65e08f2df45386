// Starts `gblint server` and connects it to the Python files that are open. All else is the server's.
const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath;
  const words = workspace.getConfiguration("gblint").get("command");
  const [command, ...args] = words.map((word) => word.replaceAll("${workspaceFolder}", folder ?? "."));
  const server = { command, args, options: { cwd: folder } };
  const selector = [{ scheme: "file", language: "python" }];
  client = new LanguageClient("gblint", "gblint", server, { documentSelector: selector });
  try {
    await client.start();
  } catch (error) {
    window.showErrorMessage(`gblint: ${words.join(" ")} cannot be started: ${error.message}`);
  }
}

exports.activate = async (context) => {
  const restart = async () => {
    await client?.stop();
    await start();
  };
  context.subscriptions.push(commands.registerCommand("gblint.restart", restart));
  await start();
};

exports.deactivate = () => client?.stop();
