import { createConfigCommand } from "connect-gateway-proxy/command";
import { assertPortTls } from "connect-gateway-proxy/settings";
import { plantStore } from "../server/settings.ts";

/** `plant-store config`: what a server would be started with, without starting it. */
export const createConfig = () => createConfigCommand(plantStore, ({ tls }) => assertPortTls(tls));
