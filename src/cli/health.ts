import { createHealthCommand } from "connect-gateway-kit/command";
import { plantStore } from "../server/settings.ts";

/** `plant-store health`: whether the server with these settings answers. */
export const createHealth = () => createHealthCommand(plantStore);
