/** Run as a program: a mail server that greets, and then says one thing without end. Prints its port. */
import { type AddressInfo, createServer } from "node:net";

const said = JSON.parse(process.argv[2] ?? '""') as string;

const server = createServer((socket) => {
  const talk = () => {
    while (!socket.destroyed && socket.write(said));
    if (!socket.destroyed) socket.once("drain", talk);
  };
  socket.on("error", () => {});
  socket.write("220 mail.example.com\r\n");
  socket.once("data", talk);
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
